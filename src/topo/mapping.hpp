// Mapping: layout of the ranks of a job over hosts, and over the cores of a host. It represents the meaning of the
// command line, independently of its wording and of any machine. A plain value.
#pragma once

#include <optional>
#include <vector>

#include "topo/cpu_set.hpp"
#include "topo/level.hpp"
#include "topo/machine.hpp"

namespace hr::topo {

struct Mapping {
  // Order in which hosts are filled.
  enum class Hosts {
    kSlots,  // one host at a time, each up to its slots
    kNode,   // one rank each, round robin
    kSpan,   // round robin over the parts (`level`) of all hosts, as if they were one
  };
  Hosts hosts = Hosts::kSlots;
  int per_host = 0;  // ranks on each host before the next host is filled; 0: not given
  // True if ppr:N:PLACE limits the number of ranks per host or part. Used by distribute() only.
  bool is_limit = false;

  enum class Policy {
    kShare,    // each rank gets an equal share of neighbouring cores; not bound if ranks outnumber cores
    kParts,    // round robin over the parts of `level`
    kScatter,  // each rank is as far from those before it as the machine allows
    kSpread,   // each rank gets `count` units, evenly spaced over its equal share
    kList,     // ranks get the CPUs of `list`
  };
  Policy policy = Policy::kShare;
  bool bound = true;              // false if ranks are only laid out in this way, and not bound
  Level level = Level::kMachine;  // kMachine: units (cores) in order
  int group = 1;                  // number of neighbouring parts that count as one
  int per_part = 0;  // ppr:N: number of consecutive ranks that fill a part; 0: one at a time, while there is space
  // A rank gets `count` neighbouring units within a part.
  Level unit = Level::kCore;
  int count = 1;
  // If set, a rank is bound to the parts of this level that contain its units; otherwise to the units themselves.
  std::optional<Level> bind{};
  std::vector<CpuSet> list{};  // CPUs of the ranks on a host; repeated if the ranks outnumber its entries

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
  CpuSet only{};  // only these CPUs of each host are used; empty: all that are allowed
};

// Returns the parts that place() and distribute() need.
Needs needs_of(const Mapping& mapping);

}  // namespace hr::topo
