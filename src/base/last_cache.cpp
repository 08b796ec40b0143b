#include "base/last_cache.hpp"

#include <sched.h>

#include <fstream>

namespace hr {
namespace {

constexpr unsigned kMostCpus = 8192;
constexpr int kMostCaches = 16;  // maximum number of caches of one CPU

std::string line_of(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

}  // namespace

std::string last_cache_of_cpu(unsigned cpu, const std::string& directory) {
  const std::string caches = directory + "/cpu" + std::to_string(cpu) + "/cache/index";
  std::string cpus;
  int last = 0;
  for (int index = 0; index < kMostCaches; ++index) {
    const std::string cache = caches + std::to_string(index);
    const std::string level = line_of(cache + "/level");
    if (level.empty()) break;
    if (level.size() != 1 || level[0] - '0' <= last) continue;
    last = level[0] - '0';
    cpus = line_of(cache + "/shared_cpu_list");
  }
  return last >= 2 ? cpus : std::string();
}

std::string last_cache_of(pid_t process) {
  std::string cache;
  cpu_set_t* const set = CPU_ALLOC(kMostCpus);
  const std::size_t bytes = CPU_ALLOC_SIZE(kMostCpus);
  if (set != nullptr && ::sched_getaffinity(process, bytes, set) == 0) {
    for (unsigned cpu = 0; cpu < kMostCpus; ++cpu) {
      if (!CPU_ISSET_S(cpu, bytes, set)) continue;
      const std::string own = last_cache_of_cpu(cpu, "/sys/devices/system/cpu");
      if (own.empty() || (!cache.empty() && own != cache)) {
        cache.clear();
        break;
      }
      cache = own;
    }
  }
  CPU_FREE(set);
  return cache;
}

}  // namespace hr
