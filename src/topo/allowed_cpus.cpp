#include "topo/neighbourhood.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace hr::topo {
namespace {

constexpr int kMostCpus = 8192;

// The first line of a file; empty when there is none.
std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// "0-3,8,10-11"; what cannot be read ends the list.
CpuSet cpus_of(std::string_view text) {
  CpuSet cpus;
  while (!text.empty()) {
    unsigned first = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), first);
    if (error != std::errc()) break;
    unsigned last = first;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      const auto range = std::from_chars(text.data(), text.data() + text.size(), last);
      if (range.ec != std::errc() || last - first >= kMostCpus) break;
      text.remove_prefix(static_cast<std::size_t>(range.ptr - text.data()));
    }
    for (unsigned cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (!text.starts_with(',')) break;
    text.remove_prefix(1);
  }
  return cpus;
}

bool within(const CpuSet& part, const CpuSet& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end());
}

// Those that share the last cache with a CPU: the caches are numbered from the nearest one on.
CpuSet last_cache_of(const std::string& cpu) {
  CpuSet sharing;
  for (int index = 0;; ++index) {
    CpuSet next = cpus_of(line_of(cpu + "/cache/index" + std::to_string(index) + "/shared_cpu_list"));
    if (next.empty()) return sharing;
    sharing = std::move(next);
  }
}

// Number of the domain that a CPU's directory points to.
int memory_of(const std::string& cpu) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(cpu, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    constexpr std::string_view kPrefix = "node";
    int number = 0;
    if (!name.starts_with(kPrefix)) continue;
    const auto [last, bad] = std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), number);
    if (bad == std::errc() && last == name.data() + name.size()) return number;
  }
  return Neighbourhood::kUnknown;
}

}  // namespace

Neighbourhood neighbourhood_of(const CpuSet& cpus, const std::string& system) {
  Neighbourhood here;
  if (cpus.empty()) return here;
  const std::string cpu = system + "/cpu/cpu" + std::to_string(cpus.front());
  const CpuSet cache = last_cache_of(cpu);
  if (!cache.empty() && within(cpus, cache)) here.cache = static_cast<int>(cache.front());
  const int memory = memory_of(cpu);
  if (memory != Neighbourhood::kUnknown &&
      within(cpus, cpus_of(line_of(system + "/node/node" + std::to_string(memory) + "/cpulist")))) {
    here.memory = memory;
  }
  return here;
}

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
