#include "topo/allowed_cpus.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

namespace hr::topo {
namespace {

constexpr std::size_t kMostCpus = 8192;

// Returns the allowed CPUs as listed in /proc, for sandboxes that refuse the system call.
CpuSet shown_cpus() {
  constexpr std::string_view kName = "Cpus_allowed_list:";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kName)) return cpus_listed(line.substr(kName.size()));
  }
  return {};
}

}  // namespace

CpuSet cpus_listed(const std::string& text) {
  CpuSet cpus;
  std::istringstream list(text);
  for (unsigned first = 0; list >> first;) {
    unsigned last = first;
    if (list.peek() == '-') list.ignore() >> last;
    for (unsigned cpu = first; cpu <= last && cpu < kMostCpus; ++cpu) cpus.push_back(cpu);
    if (list.peek() == ',') list.ignore();
  }
  return cpus;
}

bool use_cpus(const CpuSet& cpus) {
  cpu_set_t* const set = CPU_ALLOC(kMostCpus);
  if (set == nullptr) return false;
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostCpus);
  CPU_ZERO_S(bytes, set);
  for (const unsigned cpu : cpus) CPU_SET_S(cpu, bytes, set);
  const bool done = ::sched_setaffinity(0, bytes, set) == 0;
  CPU_FREE(set);
  return done;
}

CpuSet allowed_cpus() {
  // The system call returns the number of bytes written, which is much less than the size of the buffer.
  constexpr std::size_t kBits = std::numeric_limits<unsigned long>::digits;
  std::array<unsigned long, kMostCpus / kBits> words;
  const long bytes = ::syscall(SYS_sched_getaffinity, 0, sizeof words, words.data());
  CpuSet cpus;
  for (std::size_t i = 0; bytes > 0 && i < static_cast<std::size_t>(bytes) / sizeof words[0]; ++i) {
    for (unsigned long rest = words[i]; rest != 0; rest &= rest - 1)
      cpus.push_back(static_cast<unsigned>(i * kBits) + static_cast<unsigned>(std::countr_zero(rest)));
  }
  return cpus.empty() ? shown_cpus() : cpus;
}

bool affinity_is_told() noexcept {
  cpu_set_t some;
  return ::sched_getaffinity(0, sizeof some, &some) == 0 ||
         errno == EINVAL;  // EINVAL means that there are more CPUs than fit
}

}  // namespace hr::topo
