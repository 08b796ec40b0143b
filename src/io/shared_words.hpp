// SharedWords: words that the processes of a file share: the shared file pointer (MPI 5.0 section 14.4.4), and a lock
// for accesses in atomic mode (section 14.6.1).
//
// On one host, the words are in shared memory, so no process takes part in another's access. If the processes are on
// several hosts, process 0 holds the words and serves the others with messages (word_server.hpp); an access then waits
// until that process makes progress, in a call or in its progress thread. Neither case needs a file-system lock.
//
// Owner: the File, from open to close. Threads: library lock. Words in shared memory are changed with atomic
// operations; the holder of the lock sees everything that earlier holders have done.
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
  // A ticket lock: a process takes a ticket, and holds the lock while `serving` equals its ticket.
  alignas(64) std::atomic<std::uint64_t> ticket{0};
  std::atomic<std::uint64_t> serving{0};
};

class SharedWords {
 public:
  explicit SharedWords(comm::Communicator& comm);
  ~SharedWords();
  SharedWords(const SharedWords&) = delete;
  SharedWords& operator=(const SharedWords&) = delete;

  // Opens the words; called once, by all processes of the file.
  p2p::Task open(comm::Members members);

  // Advances the shared pointer by `etypes`. *before: receives its previous value.
  p2p::Task advance(Count etypes, Count* before);
  // Sets the shared pointer. Called only by process 0, while no other process uses the pointer.
  void place_pointer(Count etypes) noexcept { words_->pointer.store(etypes, std::memory_order_release); }

  p2p::Task lock();
  p2p::Task unlock();

 private:
  p2p::Task share(comm::Members members, bool* shared);
  p2p::Task ask(int question, Count value, Count* answer);

  comm::Communicator& comm_;
  Words own_;
  SharedFile memory_;
  Words* words_ = nullptr;              // null if process 0 holds the words
  std::unique_ptr<WordServer> server_;  // exists on process 0, if it serves others
  int next_tag_ = 1;                    // tag of the next answer
};

}  // namespace hr::io
