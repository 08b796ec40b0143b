// ResidentCopyScope: while this process waits for the end of a message from or to GPU memory, a resident copy kernel
// (mem/cuda/resident_copier.hpp) is called to that GPU, for this message or the next. Stands around a waiting loop;
// costs a compare where no GPU memory takes part.
//
// It is called when the wait has lasted for a while: a message that was announced already is fetched at once. A program
// that sends to and fro spends its time in the sends, each until its receiver has the data, and by then the answer is
// there; so sends call, too.
// Owner: the waiting call; one at a time, further ones (calls within callbacks) do nothing. Threads: library lock,
// which a waiting loop gives up between rounds.
#pragma once

#include "p2p/request.hpp"

namespace hr::p2p {

class ResidentCopyScope {
 public:
  explicit ResidentCopyScope(const Request& waited_for) {
    if (waited_for.view_.where.is_device()) [[unlikely]]
      begin(waited_for);
  }
  ~ResidentCopyScope() {
    if (waited_for_ != nullptr) [[unlikely]]
      end();
  }
  ResidentCopyScope(const ResidentCopyScope&) = delete;
  ResidentCopyScope& operator=(const ResidentCopyScope&) = delete;

 private:
  void begin(const Request& waited_for);
  void end();
  static bool look(void* scope);

  const Request* waited_for_ = nullptr;  // null: nobody is called
  double begun_ = 0;
};

}  // namespace hr::p2p
