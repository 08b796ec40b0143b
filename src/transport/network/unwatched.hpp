// Unwatched: processes of other jobs whose end this process could not notice yet.
//
// This job's launcher does not report their end, because they belong to other jobs, and a network reports it only on a
// path that this process has opened itself. So a path is opened to each of them, although nothing may ever be sent on
// it. Some are opened in each round of progress, so that a large group delays no message.
// Owner: the transport. Threads: library lock.
#pragma once

#include <vector>

namespace hr::transport::network {

class Unwatched {
 public:
  void add(int proc) { procs_.push_back(proc); }
  void forget(int proc) noexcept { std::erase(procs_, proc); }
  [[nodiscard]] bool empty() const noexcept { return procs_.empty(); }

  // Removes a few processes and calls open(proc) for each; open() must not add any.
  template <class Open>
  void take_some(Open&& open) {
    for (int left = kAtOnce; left != 0 && !procs_.empty(); --left) {
      const int proc = procs_.back();
      procs_.pop_back();
      open(proc);
    }
  }

 private:
  static constexpr int kAtOnce = 4;

  std::vector<int> procs_;
};

}  // namespace hr::transport::network
