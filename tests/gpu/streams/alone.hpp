// Alone: a part of a test whose operations streams execute without the library's thread, if they can.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "../variable.hpp"
#include "lane.hpp"

namespace streams {

// True if kernels may wait: each rank has a device of its own.
inline bool kernels_wait(const Lane& lane) {
  const char* const waits = std::getenv("HEADRACE_STREAM_WAITS");
  return lane.size > 1 && lane.size <= gpu::device_count() && (waits == nullptr || std::strcmp(waits, "stream") != 0);
}

class Alone {
 public:
  explicit Alone(bool expected, std::string what = {}) : expected_(expected), what_(std::move(what)) {}
  ~Alone() {
    const auto starts = by_streams_.take(), by_host = by_host_.take();
    if (expected_ == (starts != 0 && by_host == 0)) return;
    check::fail(
        __FILE__, __LINE__,
        what_ + std::to_string(starts) + " starts by streams, " + std::to_string(by_host) + " operations by the host");
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  bool expected_;
  std::string what_;
  hr::test::Variable by_streams_{"HEADRACE_ENQUEUED_BY_STREAMS"}, by_host_{"HEADRACE_ENQUEUED_DONE"};
};

}  // namespace streams
