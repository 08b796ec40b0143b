// RankLayout: placement of the ranks of a job before any of them is started. It contains the hosts, the ranks on each,
// and the CPUs of each rank.
//
// Created from the command line and from machines: this one, or described ones (--machine). A host that has not been
// examined is assumed to be like this one; the agent there places its ranks on the actual machine. Owner: main().
#pragma once

#include <list>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "topo/devices.hpp"
#include "topo/distribute.hpp"
#include "words/options.hpp"

namespace hr::launcher {

struct RankLayout {
  std::list<topo::Machine> machines;  // machines that `hosts` borrow
  std::vector<topo::Host> hosts;
  int own_host = -1;                   // index of this host
  std::vector<int> host_of;            // index into hosts, for each rank
  std::vector<topo::CpuSet> cpus;      // CPUs of each rank; empty: not bound
  std::vector<topo::Nearest> nearest;  // devices nearest to each rank, if the machines' devices were read
  std::string note;                    // note on oversubscription; empty if there is none

  [[nodiscard]] std::vector<int> ranks_on(int host) const;
};

// Decides the number of ranks of each program for which none is given, and the host of each rank. Programs that name no
// hosts use options->hosts.
Status lay_out(Options* options, RankLayout* layout);

// Sets the CPUs and nearest devices of one host's ranks. Fails if the mapping is not possible on that host.
Status place_on(int host, const topo::Mapping& mapping, RankLayout* layout);

// Prints the output of --do-not-launch: a table of ranks and a picture of each host, or JSON.
void print_layout(const RankLayout& layout, bool as_json);

}  // namespace hr::launcher
