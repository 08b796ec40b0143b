// Machine: the parts of one host that matter for placing ranks: hardware threads, cores, caches, NUMA domains, sockets,
// and the locations of GPUs and network cards. It describes this host, one saved by hwloc, or a synthetic one.
//
// A plain value, which does not change once it has been read. Threads: any.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "topo/cpu_set.hpp"
#include "topo/level.hpp"

namespace hr::topo {

struct Device {
  enum class Kind { kGpu, kNic };
  Kind kind = Kind::kGpu;
  std::string name;              // "cuda0", "mlx5_0"; the address if the system has no name for it
  std::string address;           // PCI: "0000:18:00.0"
  CpuSet cpus;                   // CPUs to which the device is attached
  std::vector<int> bridges;      // numbers of the PCI bridges above the device, from the host bridge down
  bool is_fast_network = false;  // InfiniBand or RoCE
};

struct Machine {
  std::string name;
  CpuSet allowed;  // CPUs that ranks may use, within affinity and cgroup
  // All parts with an online CPU, by level, in the machine's order (neighbours share caches); empty if the level was
  // not requested, or is not known.
  std::array<std::vector<CpuSet>, kLevels> levels;
  std::array<std::uint64_t, kLevels> cache_bytes{};  // size of one cache of the level; 0: not known
  std::vector<Device> devices;

  [[nodiscard]] const std::vector<CpuSet>& all(Level level) const { return levels[static_cast<std::size_t>(level)]; }
  // Returns the allowed CPUs of each part of this level; parts without allowed CPUs are omitted. If the cores are not
  // known, each hardware thread counts as one; if NUMA domains or sockets are not known, the machine counts as one.
  // Empty: no such cache.
  [[nodiscard]] std::vector<CpuSet> parts(Level level) const;
};

// Parts to read; reading others would only cost start-up time. Hardware threads and cores are always read.
struct Needs {
  std::vector<Level> levels;
  bool devices = false;
  CpuSet only;  // only these CPUs are allowed; empty: all that the system allows

  void add_everything() {
    levels.assign(kAllLevels.begin(), kAllLevels.end());
    devices = true;
  }
};

// Reads a machine. `source`: empty for this host, as far as this process may use it; the path of an hwloc XML file
// (lstopo x.xml); "synthetic:" followed by a description in hwloc's notation ("synthetic:pack:2 numa:4 core:8 pu:2").
Status read_machine(const std::string& source, const Needs& needs, Machine* machine);

// Saves this host as an hwloc XML file, devices included.
Status write_machine(const std::string& path);

}  // namespace hr::topo
