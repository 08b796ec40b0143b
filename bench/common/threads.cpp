#include "common/threads.hpp"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

namespace bench {
namespace {

void bind_to(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  ::pthread_setaffinity_np(::pthread_self(), sizeof one, &one);
}

// True for a hardware thread that is not the first one of its core.
bool is_second(int cpu) {
  std::ifstream siblings("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
  int first = cpu;
  return static_cast<bool>(siblings >> first) && first != cpu;
}

// Returns the CPUs on which this process was started: first those on separate cores, as launchers bind processes, and
// then the other hardware threads of these cores.
std::vector<int> own_cores() {
  cpu_set_t allowed;
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cores.push_back(cpu);
  }
  std::stable_partition(cores.begin(), cores.end(), [](int cpu) { return !is_second(cpu); });
  return cores;
}

}  // namespace

Threads::Threads(const World& world, bool bind) : cores_(own_cores()), bind_(bind) {
  const std::vector<std::string> all = gather_text(world, allowed_cpus());
  const bool apart =
      from_root(world, world.rank == 0 && std::set<std::string>(all.begin(), all.end()).size() > 1 ? 1 : 0) != 0;
  if (!apart) place_ = static_cast<std::size_t>(node_local_rank(world));
}

void Threads::run(std::size_t count, const std::function<void(std::size_t)>& work) const {
  const auto in_thread = [&](std::size_t t) {
    const std::size_t core = place_ * count + t;
    if (bind_ && core < cores_.size()) bind_to(cores_[core]);
    work(t);
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < count; ++t) threads.emplace_back(in_thread, t);
  in_thread(0);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace bench
