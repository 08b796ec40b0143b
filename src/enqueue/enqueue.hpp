// enqueue: MPI operations that start when a device stream of the program reaches them, and for which the stream waits,
// not the program (docs/adr/0043-streams-and-graphs.md).
//
// The stream writes a word when it reaches an operation, and waits for another word, which the library writes when the
// operation is complete. In between the operation is an ordinary one, which a thread of the library starts and
// completes (service.cpp): so everything that MPI can send may be enqueued. The library's own work never runs in the
// program's stream.
//
// Operations of one stream start in the order in which they were enqueued. An operation that was enqueued while its
// stream was captured belongs to the graph: it starts on every launch, until its communicator is freed. Errors of an
// operation are reported by the next call of this layer on the communicator, because the call that enqueued it has
// already returned. The stream continues. Threads: library lock; functions that enqueue release it while the driver
// works.
#pragma once

#include <span>

#include "coll/coll.hpp"
#include "comm/communicator.hpp"
#include "enqueue/stream.hpp"
#include "p2p/p2p.hpp"

namespace hr::enqueue {

void init();
// Frees everything; finish_all() has been called before.
void finalize();

// Receiver of an operation's result; the program keeps the memory until the operation is complete.
struct StatusSink {
  void (*report)(void* status, const p2p::Completion& completion) = nullptr;  // null: ignored
  void* status = nullptr;
};

// Duplicates a communicator, with a stream (null: without). Collective.
Status create_communicator(comm::Communicator& comm, Stream* stream, Ref<comm::Communicator>* made);
// Returns the communicator's stream; null if it has none.
[[nodiscard]] Stream* stream_of(const comm::Communicator& comm) noexcept;

// The communicator must have a device stream. If `request` is null, the stream waits for the operation; else *request
// receives a reference, which the caller owns. Errors: MPI_ERR_COMM (no such stream), MPI_ERR_BUFFER, MPI_ERR_OTHER
// (the stream's context was destroyed, or its capture cannot hold the operation, which leaves the capture valid); the
// error of an earlier operation of the communicator.
Status send(const void* buffer, Count count, layout::Datatype& type, int to, int tag, comm::Communicator& comm,
            p2p::Request** request);
Status receive(void* buffer, Count count, layout::Datatype& type, int from, int tag, comm::Communicator& comm,
               StatusSink sink, p2p::Request** request);
Status allreduce(const void* send, void* receive, Count count, layout::Datatype& type, layout::Op& op,
                 comm::Communicator& comm);
// Starts persistent requests of any kind when the stream reaches this point. With partitioned requests, the stream
// continues only once they have started, so that kernels may mark partitions. Errors, in addition to the above:
// MPI_ERR_REQUEST.
Status start_all(std::span<p2p::Request* const> requests, comm::Communicator& comm);
// Starts the requests and makes the stream wait for them, like start_all() and wait() but with fewer driver calls.
Status run_all(std::span<p2p::Request* const> requests, comm::Communicator& comm);
// Matches persistent messages and collective operations with those of the other processes, which must also call
// match_all(), so that streams can execute them without the library's threads (matched.hpp). Errors: MPI_ERR_REQUEST (a
// receive from any source or with any tag); those of messages to the other processes.
Status match_all(std::span<p2p::Request* const> requests);
// Makes the stream wait for an enqueued operation. A persistent request remains; any other is released, and the program
// must no longer use its handle. Errors: MPI_ERR_REQUEST if the request was not enqueued, or was enqueued in a capture
// and this call is made outside that capture, or the reverse (even if the request is complete).
Status wait(p2p::Request& request, StatusSink sink);
// Makes streams wait for several operations with few driver calls: for those that they can wait for together, which are
// marked (`done`). wait() handles the others. Errors: those of wait(); even after an error, the waits for marked
// operations have been enqueued.
struct Waiting {
  p2p::Request* request = nullptr;
  StatusSink sink;
  bool done = false;
};
Status wait_together(std::span<Waiting> all);
// True if wait() has taken the program's reference.
[[nodiscard]] bool wait_releases(const p2p::Request& request) noexcept;

// Waits until every operation that was enqueued on the communicator, which the program is freeing, is complete. If
// graphs hold operations, waits until the communicator's stream is idle; of graphs in other streams, only operations
// that these have reached are awaited. Ends messages that can no longer complete, because their other process has left
// MPI. Errors: those of the operations.
Status finish(comm::Communicator& comm);
// Calls finish() for all communicators. Returns the first error, with its communicator, and logs the others.
Status finish_all(Ref<comm::Communicator>* failed);

// Watches the operations that the library's thread carries out, for the checker (check/enqueued.cpp). Threads: library
// lock; all but enqueued() also in rounds of progress.
class Watcher {
 public:
  virtual ~Watcher() = default;
  // The current call has enqueued the operation. `request`: the program's; null if the stream waits for the operation.
  virtual void enqueued(const void* operation, const p2p::Request* request, bool captured) = 0;
  // The stream has come to the operation, which is about to be started, and has been. `inner`: its ordinary request;
  // null: the start failed.
  virtual void begins(const void* operation) = 0;
  virtual void began(const void* operation, const p2p::Request* inner) = 0;
  // The operation is complete. Returns a mistake of the program, with its detail.
  virtual Status ends(const void* operation) = 0;
  // The operation will not be started again.
  virtual void dropped(const void* operation) = 0;
};
// Null: nobody watches. Owner: check/.
inline Watcher* watcher = nullptr;

// Asks the thread that makes progress to log a line about each communicator whose stream waits. Threads: any, even in
// a signal handler.
void ask_for_waits() noexcept;

}  // namespace hr::enqueue
