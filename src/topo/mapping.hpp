// Mapping: how the ranks of a job are laid out over hosts, and over the cores of a host. What the command line says,
// independent of its words and of any machine. A plain value.
#pragma once

#include <optional>
#include <vector>

#include "topo/cpu_set.hpp"
#include "topo/level.hpp"
#include "topo/machine.hpp"

namespace hr::topo {

struct Mapping {
  // The order in which hosts are taken.
  enum class Hosts {
    kSlots,  // one after the other, each as far as its slots go
    kNode,   // one rank each, round robin
    kSpan,   // round robin over the parts (`level`) of all hosts, as if they were one
  };
  Hosts hosts = Hosts::kSlots;
  int per_host = 0;  // ranks on each host before the next is taken; 0: not said
  // ppr:N:PLACE says how many ranks there are: no host or part takes more. For distribute() alone.
  bool is_limit = false;

  enum class Policy {
    kShare,    // each rank an equal share of neighbouring cores; not bound where ranks outnumber cores
    kParts,    // ranks go round the parts of `level`
    kScatter,  // each rank as far from those before it as the machine allows
    kSpread,   // each rank `count` units, evenly spaced over its equal share
    kList,     // what `list` says
  };
  Policy policy = Policy::kShare;
  bool bound = true;              // false: ranks are laid out so, and run where the system lets them
  Level level = Level::kMachine;  // kMachine: cores (units) one after the other
  int group = 1;                  // neighbouring parts that are taken as one
  int per_part = 0;  // ppr:N: so many follow one another in a part, and it is full; 0: one, while there is room
  // A rank gets `count` units, neighbours within a part.
  Level unit = Level::kCore;
  int count = 1;
  // Then it is bound to all parts of this level that its units are in; nothing: to the units themselves.
  std::optional<Level> bind{};
  std::vector<CpuSet> list{};  // of the ranks of a host; begins again when they outnumber it

  // The order in which ranks are numbered.
  enum class Numbering {
    kAsMapped,
    kSlot,   // host by host
    kNode,   // round robin over hosts
    kSpan,   // round robin over the parts of all hosts, as if they were one
    kFill,   // part by part
    kParts,  // within a host round robin over the parts of `number_level`
  };
  Numbering numbering = Numbering::kAsMapped;
  Level number_level = Level::kSocket;

  bool allow_oversubscription = true;
  CpuSet only{};  // of each host use these CPUs alone; empty: all that are allowed
};

// What place() and distribute() look at.
Needs needs_of(const Mapping& mapping);

}  // namespace hr::topo
