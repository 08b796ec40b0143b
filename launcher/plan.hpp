// Plan: where the ranks of a job go, before any of them is started: hosts, ranks on each, and the CPUs of each rank.
//
// Made from the command line and from machines, which are this one or described ones (--machine). Owner: main(), which
// hands it to the job. Nothing in it changes any more.
#pragma once

#include <list>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "options.hpp"
#include "topo/devices.hpp"
#include "topo/distribute.hpp"

namespace hr::launcher {

struct Plan {
  std::list<topo::Machine> machines;  // that `hosts` borrow
  std::vector<topo::Host> hosts;
  std::vector<int> host_of;            // of each rank, an index into hosts
  std::vector<topo::CpuSet> cpus;      // of each rank; empty: not bound
  std::vector<topo::Nearest> nearest;  // of each rank, where the machines' devices were read
  std::string note;                    // on oversubscription; empty: there is none

  [[nodiscard]] std::vector<int> ranks_on(int host) const;
};

// Also decides how many ranks the programs have that do not say it. An error says what is not possible, and on which
// host.
Status make_plan(Options& options, Plan* plan);

// "core 0-3" of the machine's numbers, for CPUs.
std::string cores_text(const topo::Machine& machine, const topo::CpuSet& cpus);

// "; GPU cuda0 (same NUMA domain), NIC mlx5_0 (same socket)", or empty.
std::string nearest_text(const topo::Nearest& nearest);

// What --do-not-launch prints: a table of ranks and a picture of each host, or JSON.
void print_plan(const Plan& plan, bool as_json);

}  // namespace hr::launcher
