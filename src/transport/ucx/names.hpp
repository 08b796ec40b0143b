// Names: by which number a message says who sends it, so that its receiver knows.
//
// To a process of the same job that is the rank; to one of another job the number that stands for the sender everywhere
// (boot::Processes::number_of()), with a bit that tells the two apart. Owner: the transport. Threads: library lock.
#pragma once

#include <cstdint>
#include <map>

#include "transport/transport.hpp"

namespace hr::transport::ucx {

class Names {
 public:
  explicit Names(const Job& job) : processes_(job.processes), rank_(static_cast<std::uint32_t>(job.rank)) {}

  // What this process is called in messages to that one.
  [[nodiscard]] std::uint32_t own_for(int proc) const noexcept {
    if (!processes_.is_other(proc)) [[likely]]
      return rank_;
    return kOfOthers | static_cast<std::uint32_t>(processes_.number_of(processes_.self()));
  }
  // -1: of nobody that was met.
  [[nodiscard]] int proc_of(std::uint32_t name) const noexcept {
    if ((name & kOfOthers) == 0) [[likely]]
      return static_cast<int>(name);
    const auto found = met_.find(name);
    return found != met_.end() ? found->second : -1;
  }

  void meet(int proc) { met_[kOfOthers | static_cast<std::uint32_t>(processes_.number_of(proc))] = proc; }
  void part(int proc) { met_.erase(kOfOthers | static_cast<std::uint32_t>(processes_.number_of(proc))); }

 private:
  static constexpr std::uint32_t kOfOthers = std::uint32_t{1} << 31;

  const boot::Processes& processes_;
  std::uint32_t rank_;
  std::map<std::uint32_t, int> met_;
};

}  // namespace hr::transport::ucx
