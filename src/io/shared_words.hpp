// SharedWords: words shared by the processes of a file: the shared pointer (MPI 5.0 section 14.4.4), and a lock for
// accesses in atomic mode (section 14.6.1).
//
// On one host they are words in shared memory, so that no process takes part in another's access. If the processes are
// on several, process 0 has them and serves the others by messages (word_server.hpp): an access waits until that
// process is within MPI, or has a progress thread. No lock of a file system is needed for either.
//
// Owner: the File, from open to close. Threads: library lock. Words in shared memory are changed by atomic operations;
// the holder of the lock sees everything done under it before.
#pragma once

#include <atomic>
#include <memory>

#include "base/count.hpp"
#include "base/shared_file.hpp"
#include "comm/agree.hpp"
#include "comm/communicator.hpp"
#include "p2p/task.hpp"

namespace hr::io {

class WordServer;

struct Words {
  std::atomic<Count> pointer{0};  // etypes
  // A ticket lock: a process draws a ticket, and has the lock while `serving` is its ticket.
  alignas(64) std::atomic<std::uint64_t> ticket{0};
  std::atomic<std::uint64_t> serving{0};
};

class SharedWords {
 public:
  explicit SharedWords(comm::Communicator& comm);
  ~SharedWords();
  SharedWords(const SharedWords&) = delete;
  SharedWords& operator=(const SharedWords&) = delete;

  // Opens the words, once, by all processes of the file.
  p2p::Task open(comm::Members members);

  // Moves the shared pointer by `etypes`; *before: its previous value.
  p2p::Task advance(Count etypes, Count* before);
  // Called by process 0 alone, while no other process uses it.
  void place_pointer(Count etypes) noexcept { words_->pointer.store(etypes, std::memory_order_release); }

  p2p::Task lock();
  p2p::Task unlock();

 private:
  p2p::Task share(comm::Members members, bool* shared);
  p2p::Task ask(int question, Count value, Count* answer);

  comm::Communicator& comm_;
  Words own_;
  SharedFile memory_;
  Words* words_ = nullptr;              // null: process 0 has them
  std::unique_ptr<WordServer> server_;  // at process 0, if others ask
  int next_tag_ = 1;                    // of answers
};

}  // namespace hr::io
