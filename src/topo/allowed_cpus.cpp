#include "topo/allowed_cpus.hpp"

#include <sched.h>

namespace hr::topo {
namespace {

constexpr int kMostCpus = 8192;

}  // namespace

CpuSet allowed_cpus() {
  CpuSet cpus;
  cpu_set_t* const set = CPU_ALLOC(kMostCpus);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostCpus);
  if (set != nullptr && ::sched_getaffinity(0, bytes, set) == 0) {
    for (unsigned cpu = 0; cpu < kMostCpus; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
    }
  }
  CPU_FREE(set);
  return cpus;
}

}  // namespace hr::topo
