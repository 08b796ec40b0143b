// Assigns a host to each rank of a job. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "topo/machine.hpp"
#include "topo/mapping.hpp"

namespace hr::topo {

struct Host {
  std::string name;
  int slots = 0;                     // number of ranks intended for the host; 0: not given
  const Machine* machine = nullptr;  // borrowed, never null; that of this host if the host has not been examined
};

// Sets (*host_of)[rank] to an index into `hosts`. The ranks on a host are its local ranks 0, 1, ... in ascending order;
// place() determines the CPUs of each. Hosts without slots equally share, in blocks, the ranks that exceed the slots of
// the others. When all slots are taken, assignment begins again with the first host. If the mapping forbids that, the
// error states the number of ranks that fit.
Status distribute(std::span<const Host> hosts, int ranks, const Mapping& mapping, std::vector<int>* host_of);

// Returns the default number of ranks: the slots of the hosts, or N per host or part (ppr); 0 if neither is given.
int fitting_ranks(std::span<const Host> hosts, const Mapping& mapping);

// Returns a line that lists the hosts with more ranks than cores (or slots, if given); empty if there are none.
std::string oversubscription(std::span<const Host> hosts, std::span<const int> host_of, const Mapping& mapping);

}  // namespace hr::topo
