// Runs work in several forked processes at once, and provides their memory.
#pragma once

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "limits/cores.hpp"

namespace bench {

// Zeroed memory at the same address in processes forked later, either shared or private to each.
class Mapped {
 public:
  enum class Kind { kOwn, kShared };
  Mapped(std::size_t bytes, Kind kind)
      : bytes_(bytes),
        memory_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                     (kind == Kind::kShared ? MAP_SHARED : MAP_PRIVATE) | MAP_ANONYMOUS, -1, 0)) {}
  ~Mapped() {
    if (*this) munmap(memory_, bytes_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  explicit operator bool() const { return memory_ != MAP_FAILED; }
  [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_); }

 private:
  const std::size_t bytes_;
  void* const memory_;
};

// A word in its own cache line, on which other processes wait.
struct alignas(128) Flag {
  std::atomic<std::uint64_t> value{0};
  [[nodiscard]] bool reached(std::uint64_t wanted) const { return value.load(std::memory_order_acquire) >= wanted; }
  void wait(std::uint64_t wanted) const {
    while (!reached(wanted)) {
    }
  }
  void tell(std::uint64_t now) { value.store(now, std::memory_order_release); }
};

// Runs `work(me)` in `count` processes, of which this one is number 0, and returns the largest result. Each process is
// bound to one of `cores` if there are enough; otherwise none is bound (`headrace bench` treats ranks likewise). Each
// may read the others' memory. Returns 0 if a process could not be forked or returned less than 0. (A killed process
// leaves the others waiting.)
template <class Work>
double on_processes(int count, const std::vector<int>& cores, Work work) {
  const bool enough = static_cast<std::size_t>(count) <= cores.size();
  const Mapped results(static_cast<std::size_t>(count) * sizeof(double), Mapped::Kind::kShared);
  if (!results) return 0;
  double* const result = reinterpret_cast<double*>(results.data());
  std::vector<pid_t> children;
  const auto run = [&](int me) {
    if (enough) bind_to(cores[static_cast<std::size_t>(me)]);
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    result[me] = -1;
    result[me] = work(me);
  };
  for (int me = 1; me < count; ++me) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      run(me);
      _exit(0);
    }
    if (child > 0) children.push_back(child);
  }
  const bool all = children.size() + 1 == static_cast<std::size_t>(count);
  if (all) run(0);
  for (const pid_t child : children) {
    if (!all) kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  if (!all || std::any_of(result, result + count, [](double one) { return one < 0; })) return 0;
  return *std::max_element(result, result + count);
}

}  // namespace bench
