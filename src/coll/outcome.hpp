// Outcome: the first error of several parts of a collective operation that must all be executed, because other members
// wait for them, for example after data that did not fit. Owner: a local of the coroutine. Threads: library lock.
#pragma once

#include <string>
#include <utility>

#include "base/status.hpp"

namespace hr::coll {

class Outcome {
 public:
  void add(Status status) {
    if (status.ok() || !first_.ok()) return;
    first_ = status;
    detail_ = take_detail();
  }
  [[nodiscard]] Status result() {
    if (!first_.ok()) set_detail(std::move(detail_));
    return first_;
  }

 private:
  Status first_ = kOk;
  std::string detail_;
};

}  // namespace hr::coll
