// The CPUs on which processes may run. Any thread may call these functions; they are about the calling thread.
#pragma once

#include <sched.h>
#include <unistd.h>

#include <vector>

#include "common/check.hpp"

namespace check {

// Returns the CPUs on which a process may run. Empty if the system does not tell those of another process.
inline std::vector<int> allowed_cpus(pid_t process = 0) {
  cpu_set_t set;
  if (::sched_getaffinity(process, sizeof set, &set) != 0) {
    CHECK(process != 0);
    return {};
  }
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

// Returns the CPUs of the launcher, which are the same for all ranks: it may have bound these to different ones.
inline std::vector<int> cpus_of_launcher() {
  const std::vector<int> cpus = allowed_cpus(::getppid());
  return cpus.empty() ? allowed_cpus() : cpus;
}

inline void use_cpus(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  CHECK_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
}

}  // namespace check
