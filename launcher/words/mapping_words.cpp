#include "words/mapping_words.hpp"

#include <algorithm>
#include <cctype>

#include "words/suggest.hpp"
#include "words/values.hpp"

namespace hr::launcher {
namespace {

using topo::Level;
using topo::Mapping;
using Words = std::vector<std::string>;

constexpr std::string_view kMapWords[] = {"slot",    "node",  "hwthread", "core",   "l1cache", "l2cache",
                                          "l3cache", "cache", "numa",     "socket", "package", "machine",
                                          "ppr",     "bunch", "scatter",  "hybrid", "pe-list"};
constexpr std::string_view kBindWords[] = {"auto",  "none", "hwthread", "core",    "l1cache", "l2cache", "l3cache",
                                           "cache", "numa", "socket",   "package", "machine", "user",    "rr"};
constexpr std::string_view kRankWords[] = {"slot",    "node",    "fill",  "span", "hwthread", "core",   "l1cache",
                                           "l2cache", "l3cache", "cache", "numa", "socket",   "package"};
constexpr std::string_view kModifiers[] = {"PE",      "SPAN",     "OVERSUBSCRIBE", "NOOVERSUBSCRIBE",
                                           "HWTCPUS", "CORECPUS", "ORDERED"};
constexpr unsigned kMostCpus = 65536;

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char letter) { return std::tolower(letter); });
  return result;
}

// Fails with a message such as "--map-by cor: ranks go by ... or ...; did you mean core?"
Status unknown(const ParsedOption& given, std::string_view word, const char* what,
               std::span<const std::string_view> known) {
  std::string all;
  for (std::size_t at = 0; at < known.size(); ++at) {
    all += (at == 0 ? "" : at + 1 == known.size() ? ", or " : ", ") + std::string(known[at]);
  }
  const std::string meant = nearest_word(word, known);
  return fail(Errc::kOther, "%s: %s %s, not \"%.*s\"%s%s%s", given.text().c_str(), what, all.c_str(),
              static_cast<int>(word.size()), word.data(), meant.empty() ? "" : "; did you mean ", meant.c_str(),
              meant.empty() ? "" : "?");
}

Status wants_number(const ParsedOption& given, const char* form) {
  return fail(Errc::kOther, "%s: %s requires an integer from 1 to %d for N", given.text().c_str(), form, kMostRanks);
}

// Reads "3" or "0-7", and adds these CPUs to `cpus`; false for any other string.
bool read_range(std::string_view text, topo::CpuSet* cpus) {
  const auto number = [](std::string_view digits, unsigned* value) {
    if (digits.empty() || digits.size() > 5 ||
        !std::all_of(digits.begin(), digits.end(), [](unsigned char each) { return std::isdigit(each); })) {
      return false;
    }
    *value = static_cast<unsigned>(std::stoul(std::string(digits)));
    return *value < kMostCpus;
  };
  const auto dash = text.find('-');
  unsigned first = 0, last = 0;
  if (!number(text.substr(0, dash), &first)) return false;
  last = first;
  if (dash != std::string_view::npos && (!number(text.substr(dash + 1), &last) || last < first)) return false;
  for (unsigned cpu = first; cpu <= last; ++cpu) cpus->push_back(cpu);
  return true;
}

bool read_cpus(std::string_view text, char between, topo::CpuSet* cpus) {
  const Words parts = split(text, between);
  for (const std::string& part : parts) {
    if (!read_range(part, cpus)) return false;
  }
  *cpus = topo::united({*cpus});
  return !parts.empty();
}

// Reads "0,2-3,8+12": one entry for each rank, which is a CPU, a range, or several of these joined by '+'.
Status read_user_list(const ParsedOption& given, std::string_view text, MappingWords* words) {
  words->policy = MappingWords::Policy::kList;
  words->mapping.list.clear();
  for (const std::string& entry : split(text, ',')) {
    topo::CpuSet cpus;
    if (!read_cpus(entry, '+', &cpus)) {
      return fail(Errc::kOther,
                  "%s: \"%s\" is not a CPU; a list has an entry for each rank: 0,2-3,8+12 (CPU 0; 2 and 3; 8 and 12)",
                  given.text().c_str(), entry.c_str());
    }
    words->mapping.list.push_back(std::move(cpus));
  }
  if (!words->mapping.list.empty()) return kOk;
  return fail(Errc::kOther, "%s: the list names no CPU; it has an entry for each rank: 0,2-3,8+12",
              given.text().c_str());
}

// Reads "0,2,4". Every rank may use all of these CPUs; if `is_ordered`, each rank gets a single one.
Status read_pe_list(const ParsedOption& given, std::string_view text, bool is_ordered, MappingWords* words) {
  words->policy = MappingWords::Policy::kList;
  topo::CpuSet cpus;
  if (!read_cpus(text, ',', &cpus))
    return fail(Errc::kOther, "%s: pe-list requires CPUs: pe-list=0,2,8-11", given.text().c_str());
  words->mapping.list.clear();
  if (!is_ordered) {
    words->mapping.list.push_back(std::move(cpus));
  } else {
    for (const unsigned cpu : cpus) words->mapping.list.push_back({cpu});
  }
  return kOk;
}

Status read_modifier(const ParsedOption& given, const std::string& text, MappingWords* words) {
  const std::string word = lower(text);
  if (word.starts_with("pe=")) {
    return read_number(word.substr(3), &words->cpus_per_rank) ? kOk : wants_number(given, "PE=N");
  }
  if (word == "span") {
    words->mapping.hosts = Mapping::Hosts::kSpan;
  } else if (word == "oversubscribe" || word == "nooversubscribe" || word == "no-oversubscribe") {
    words->mapping.allow_oversubscription = word == "oversubscribe";
    words->oversubscription_given = true;
  } else if (word == "overload-allowed" || word == "no-overload") {
    // Ranks may share cores only if the user allows it, as in Open MPI, where this applies to bound ranks.
    words->mapping.allow_oversubscription = word == "overload-allowed";
    words->oversubscription_given = true;
  } else if (word == "hwtcpus") {
    words->hardware_threads = true;
  } else if (word == "corecpus") {
    words->hardware_threads = false;
  } else if (word != "if-supported" && word != "inherit" && word != "noinherit" && word != "ordered") {
    return unknown(given, text, "what follows a place is", kModifiers);
  }
  return kOk;
}

Status read_modifiers(const ParsedOption& given, const Words& parts, std::size_t from, MappingWords* words) {
  for (std::size_t at = from; at < parts.size(); ++at) HR_TRY(read_modifier(given, parts[at], words));
  return kOk;
}

// Reads ppr:N:PLACE; *at moves past it.
Status read_ppr(const ParsedOption& given, const Words& parts, std::size_t* at, MappingWords* words) {
  int each = 0;
  if (parts.size() < 3) return fail(Errc::kOther, "%s: it is ppr:N:PLACE, as in ppr:2:socket", given.text().c_str());
  if (!read_number(parts[1], &each)) return wants_number(given, "ppr:N:PLACE");
  const std::string place = lower(parts[2]);
  const auto level = topo::find_level(place);
  *at = 3;
  words->mapping.is_limit = true;
  if (place == "node" || level == Level::kMachine) {
    words->mapping.per_host = each;
    words->map_level = Level::kMachine;
    return kOk;
  }
  if (!level) return unknown(given, parts[2], "N ranks are placed on each", kMapWords);
  words->mapping.per_part = each;
  words->map_level = level;
  return kOk;
}

// Reads bunch:LEVEL or scatter:LEVEL.
Status read_spreading(const Words& parts, std::size_t* at, MappingWords* words) {
  words->policy = lower(parts[0]) == "bunch" ? MappingWords::Policy::kBunch : MappingWords::Policy::kScatter;
  *at = 1;
  if (parts.size() == 1) return kOk;
  if (const auto level = topo::find_level(lower(parts[1]))) {
    words->policy_level = level;
    *at = 2;
  }
  return kOk;
}

// Reads hybrid:N:linear.
Status read_hybrid(const ParsedOption& given, const Words& parts, std::size_t* at, MappingWords* words) {
  using Policy = MappingWords::Policy;
  words->policy = Policy::kLinear;
  for (*at = 1; *at < parts.size(); ++*at) {
    const std::string word = lower(parts[*at]);
    if (!word.empty() && std::isdigit(static_cast<unsigned char>(word[0]))) {
      if (!read_number(word, &words->threads_per_rank)) return wants_number(given, "hybrid:N");
    } else if (word == "linear" || word == "compact" || word == "spread") {
      words->policy = word == "linear" ? Policy::kLinear : word == "compact" ? Policy::kCompact : Policy::kSpread;
    } else {
      break;
    }
  }
  return kOk;
}

// Reads core, numa:2, slot or node.
Status read_level(const ParsedOption& given, const Words& parts, std::size_t* at, MappingWords* words) {
  const std::string place = lower(parts[0]);
  *at = 1;
  if (place == "slot" || place == "node") {
    words->map_level = Level::kMachine;
    if (place == "node") words->mapping.hosts = Mapping::Hosts::kNode;
    return kOk;
  }
  words->map_level = topo::find_level(place);
  if (!words->map_level) return unknown(given, parts[0], "ranks go by", kMapWords);
  if (parts.size() > 1 && read_number(parts[1], &words->mapping.group)) *at = 2;
  return kOk;
}

bool is_one_cpu_or_core(Level level) { return level == Level::kThread || level == Level::kCore; }

void apply_policy(const MappingWords& words, Mapping* mapping) {
  using Policy = MappingWords::Policy;
  mapping->policy = Mapping::Policy::kParts;
  mapping->level = Level::kMachine;
  mapping->count = std::max({words.threads_per_rank, words.cpus_per_rank, 1});
  const bool is_hybrid = words.policy >= Policy::kLinear && words.policy <= Policy::kSpread;
  switch (words.policy) {
    case Policy::kScatter:
      mapping->policy = Mapping::Policy::kScatter;
      break;
    case Policy::kCompact:
      mapping->unit = Level::kThread;
      break;
    case Policy::kSpread:
      mapping->policy = Mapping::Policy::kSpread;
      break;
    case Policy::kList:
      mapping->policy = Mapping::Policy::kList;
      break;
    default:
      break;
  }
  // Uses as many threads as fit, divided equally.
  if (is_hybrid && words.threads_per_rank == 0) mapping->policy = Mapping::Policy::kShare;
  mapping->bind = words.bind_level ? words.bind_level : words.policy_level;
}

}  // namespace

std::span<const std::string_view> words_of(std::string_view option) {
  if (option == "map-by") return kMapWords;
  if (option == "bind-to") return kBindWords;
  if (option == "rank-by") return kRankWords;
  return {};
}

Status read_map_by(const ParsedOption& given, MappingWords* words) {
  const Words parts = split(given.value(), ':');
  if (parts.empty()) return unknown(given, "", "ranks go by", kMapWords);
  // Only modifiers, as in ":OVERSUBSCRIBE".
  if (given.value()[0] == ':') return read_modifiers(given, parts, 0, words);
  const std::string place = lower(parts[0]);
  std::size_t at = 1;
  if (place == "ppr") {
    HR_TRY(read_ppr(given, parts, &at, words));
  } else if (place == "bunch" || place == "scatter") {
    HR_TRY(read_spreading(parts, &at, words));
  } else if (place == "hybrid") {
    HR_TRY(read_hybrid(given, parts, &at, words));
  } else if (place.starts_with("pe-list=")) {
    const bool is_ordered =
        std::any_of(parts.begin(), parts.end(), [](const std::string& each) { return alike(each, "ordered"); });
    HR_TRY(read_pe_list(given, place.substr(place.find('=') + 1), is_ordered, words));
  } else {
    HR_TRY(read_level(given, parts, &at, words));
  }
  return read_modifiers(given, parts, at, words);
}

Status read_bind_to(const ParsedOption& given, MappingWords* words) {
  const Words parts = split(given.value(), ':');
  if (parts.empty()) return unknown(given, "", "ranks are bound to", kBindWords);
  if (given.value()[0] == ':') return read_modifiers(given, parts, 0, words);
  const std::string place = lower(parts[0]);
  std::size_t at = 1;
  words->not_bound = false;
  words->bind_level.reset();
  words->bind_count = 1;
  if (place == "user") return read_user_list(given, parts.size() > 1 ? parts[1] : "", words);
  if (place == "none" || place == "board" || place == "machine") {
    words->not_bound = true;
  } else if (place == "rr") {
    words->bind_level = Level::kCore;
  } else if (place != "auto") {
    words->bind_level = topo::find_level(place);
    if (!words->bind_level) return unknown(given, parts[0], "ranks are bound to", kBindWords);
    if (parts.size() > 1 && read_number(parts[1], &words->bind_count)) at = 2;
  }
  return read_modifiers(given, parts, at, words);
}

Status read_rank_by(const ParsedOption& given, MappingWords* words) {
  using Numbering = Mapping::Numbering;
  const std::string word = lower(given.value());
  Mapping& mapping = words->mapping;
  if (word == "slot") {
    mapping.numbering = Numbering::kSlot;
  } else if (word == "node") {
    mapping.numbering = Numbering::kNode;
  } else if (word == "fill") {
    mapping.numbering = Numbering::kFill;
  } else if (word == "span") {
    mapping.numbering = Numbering::kSpan;
  } else if (const auto level = topo::find_level(word); level && *level != Level::kMachine) {
    mapping.numbering = Numbering::kParts;
    mapping.number_level = *level;
  } else {
    return unknown(given, given.value(), "ranks are numbered by", kRankWords);
  }
  return kOk;
}

Status read_cpu_set(const ParsedOption& given, topo::CpuSet* cpus) {
  cpus->clear();
  if (read_cpus(given.value(), ',', cpus)) return kOk;
  return fail(Errc::kOther, "%s: that is not a list of CPUs, as in 0,2,8-11", given.text().c_str());
}

Status make_mapping(const MappingWords& words, Mapping* mapping) {
  *mapping = words.mapping;
  mapping->bound = !words.not_bound;
  const Level level = words.map_level.value_or(Level::kMachine);
  if (words.hardware_threads || words.bind_level == Level::kThread || words.map_level == Level::kThread ||
      words.policy_level == Level::kThread) {
    mapping->unit = Level::kThread;
  }
  if (words.policy != MappingWords::Policy::kNone) {
    apply_policy(words, mapping);
    return kOk;
  }
  if (words.bind_level && words.bind_count > 1) {
    // --bind-to core:4: each rank gets four cores.
    mapping->policy = Mapping::Policy::kParts;
    mapping->level = level;
    mapping->unit = *words.bind_level;
    mapping->count = words.bind_count;
    return kOk;
  }
  mapping->count = std::max(words.cpus_per_rank, 1);
  mapping->level = level;
  mapping->bind = words.bind_level;
  const bool goes_round = words.map_level && level != Level::kMachine;
  if (goes_round || words.bind_level || words.cpus_per_rank > 0) mapping->policy = Mapping::Policy::kParts;
  // Ranks bound to sockets and the like are distributed round-robin over them, unless the user specifies otherwise.
  if (words.bind_level && !words.map_level && words.cpus_per_rank == 0 && !is_one_cpu_or_core(*words.bind_level)) {
    mapping->level = *words.bind_level;
  }
  // Ranks distributed round-robin over parts are bound to them, unless the user specifies otherwise.
  if (goes_round && !words.bind_level && words.cpus_per_rank == 0) mapping->bind = level;
  // Ranks with several cores each are placed consecutively, as no such rank fits on a single core.
  if (mapping->count > 1 && mapping->level == mapping->unit && mapping->per_part == 0) mapping->level = Level::kMachine;
  return kOk;
}

}  // namespace hr::launcher
