// WordServer: on process 0 of a file whose processes are on several hosts, answers the others' requests for its words.
//
// It is a hook of p2p/progress.hpp, and answers requests in every round of progress. Requests have tag 0 in the
// point-to-point context of the file's communicator; an answer has the tag that its request contains. Owner:
// SharedWords, which destroys it when there are no more requests. Threads: library lock.
#pragma once

#include <cstdint>
#include <deque>
#include <list>

#include "comm/communicator.hpp"
#include "io/shared_words.hpp"
#include "p2p/p2p.hpp"

namespace hr::io {

enum Question : int { kAdvance, kLock, kUnlock };

struct QuestionMessage {
  int question = kAdvance;
  int rank = 0;
  int tag = 0;  // tag of the answer
  Count value = 0;
};

class WordServer {
 public:
  WordServer(comm::Communicator& comm, Words& words) noexcept : comm_(comm), words_(words) {}
  ~WordServer();
  WordServer(const WordServer&) = delete;
  WordServer& operator=(const WordServer&) = delete;

  Status begin();

 private:
  struct Answer {
    Count value = 0;
    p2p::Request* request = nullptr;
  };
  struct Waiting {
    std::uint64_t ticket;
    int rank, tag;
  };

  static bool hook(void* server) { return static_cast<WordServer*>(server)->serve(); }
  bool serve();
  Status post();
  void take_question();
  void answer(int rank, int tag, Count value);
  bool grant();
  void drop_answers();

  comm::Communicator& comm_;
  Words& words_;
  QuestionMessage message_;
  p2p::Request* question_ = nullptr;
  std::list<Answer> answers_;
  std::deque<Waiting> waiting_;  // requests for the lock, in the order of their tickets
  bool serving_ = false;
};

}  // namespace hr::io
