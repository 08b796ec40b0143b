// Mapping: layout of the ranks of a job over hosts, and over the cores of a host. It holds the command line's meaning,
// independent of its words and of any machine. A plain value.
#pragma once

#include <optional>
#include <vector>

#include "topo/cpu_set.hpp"
#include "topo/level.hpp"
#include "topo/machine.hpp"

namespace hr::topo {

struct Mapping {
  // Order in which hosts are taken.
  enum class Hosts {
    kSlots,  // one after the other, each up to its slots
    kNode,   // one rank each, round robin
    kSpan,   // round robin over the parts (`level`) of all hosts, as if they were one
  };
  Hosts hosts = Hosts::kSlots;
  int per_host = 0;  // ranks on each host before the next is taken; 0: not given
  // True if ppr:N:PLACE limits the ranks: no host or part takes more. For distribute() alone.
  bool is_limit = false;

  enum class Policy {
    kShare,    // each rank an equal share of neighbouring cores; not bound if ranks outnumber cores
    kParts,    // ranks go round the parts of `level`
    kScatter,  // each rank as far from those before it as the machine allows
    kSpread,   // each rank `count` units, evenly spaced over its equal share
    kList,     // CPUs of `list`
  };
  Policy policy = Policy::kShare;
  bool bound = true;              // false: ranks are laid out like this, but not bound
  Level level = Level::kMachine;  // kMachine: cores (units) one after the other
  int group = 1;                  // neighbouring parts that are taken as one
  int per_part = 0;  // ppr:N: number that follow one another in a part, which is full then; 0: one, while there is room
  // A rank gets `count` units, neighbours within a part.
  Level unit = Level::kCore;
  int count = 1;
  // Level of the parts that it is bound to, those of its units; none: the units themselves.
  std::optional<Level> bind{};
  std::vector<CpuSet> list{};  // of the ranks of a host; begins again if they outnumber it

  // Order in which ranks are numbered.
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
  CpuSet only{};  // use only these CPUs of each host; empty: all that are allowed
};

// Returns the parts that place() and distribute() look at.
Needs needs_of(const Mapping& mapping);

}  // namespace hr::topo
