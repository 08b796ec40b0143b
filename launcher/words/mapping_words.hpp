// Placement of ranks as given on the command line, in the words of Open MPI and Hydra and of the policies bunch,
// scatter and hybrid. Each option adds its words; make_mapping() converts all of them to one topo::Mapping. Plain
// values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "topo/mapping.hpp"

namespace hr::launcher {

struct ParsedOption;

struct MappingWords {
  topo::Mapping mapping;
  enum class Policy { kNone, kBunch, kScatter, kLinear, kCompact, kSpread, kList };
  Policy policy = Policy::kNone;
  std::optional<topo::Level> map_level;     // --map-by core; slot and node mean the machine
  std::optional<topo::Level> bind_level;    // --bind-to core
  std::optional<topo::Level> policy_level;  // bunch:socket
  int bind_count = 1;                       // --bind-to core:4
  bool not_bound = false;                   // --bind-to none
  int cpus_per_rank = 0;                    // PE=n; 0: not given
  int threads_per_rank = 0;                 // hybrid:n; 0: not given
  bool hardware_threads = false;            // each hardware thread counts as a core
  bool oversubscription_given = false;      // oversubscription is explicitly allowed or forbidden, so no note is needed
};

Status read_map_by(const ParsedOption& given, MappingWords* words);
Status read_bind_to(const ParsedOption& given, MappingWords* words);
Status read_rank_by(const ParsedOption& given, MappingWords* words);
// Reads "0-3,8": CPUs that may be used.
Status read_cpu_set(const ParsedOption& given, topo::CpuSet* cpus);

// Returns the words with which the value of a placement option may begin ("bind-to": auto, none, ...); empty for other
// options.
std::span<const std::string_view> words_of(std::string_view option);

// Combines all words.
Status make_mapping(const MappingWords& words, topo::Mapping* mapping);

}  // namespace hr::launcher
