// Machines for tests: descriptions, read as the launcher reads them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "topo/machine.hpp"

namespace hr::topo {

inline Machine machine_from(const std::string& source, const CpuSet& only = {}) {
  Needs needs;
  needs.add_everything();
  needs.only = only;
  Machine machine;
  const Status status = read_machine(source, needs, &machine);
  EXPECT_TRUE(status.ok()) << take_detail();
  return machine;
}

inline Machine synthetic(const std::string& notation, const CpuSet& only = {}) {
  return machine_from("synthetic:" + notation, only);
}

// Reads the file `name` in the test directory. two_h100: hwloc 2.9's XML of a virtual machine with two H100s,
// without that machine's names. two_sockets_four_gpus: hwloc's XML of "pack:2 group:2 numa:1 l3:2 core:2 pu:2" with PCI
// devices added by hand. four_mi250x: written by hand from the published layout of LUMI's nodes, in which the two
// devices of each MI250X and their network card share a host bridge, and are not in the order of the NUMA domains.
inline Machine kept(const std::string& name) { return machine_from(HR_MACHINES "/" + name + ".xml"); }

// Returns the set of first, first + 1, ..., last.
inline CpuSet range(unsigned first, unsigned last) {
  CpuSet cpus;
  for (unsigned cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  return cpus;
}

// Two sockets of four NUMA domains, eight cores in each, two hardware threads per core: CPUs 2c and 2c + 1 are core c.
inline const Machine& big() {
  static const Machine machine = synthetic("pack:2 numa:4 l3:1 core:8 pu:2");
  return machine;
}

// The CPUs of cores first to last of big().
inline CpuSet cores(unsigned first, unsigned last) { return range(2 * first, 2 * last + 1); }

}  // namespace hr::topo
