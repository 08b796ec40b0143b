#include "base/knobs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <sstream>
#include <type_traits>

#include "base/own_files.hpp"
#include "base/setting_line.hpp"

namespace hr {
namespace {

struct Rule {
  KnobRecord record;
  const char* low;  // "" if the table gives no range
  const char* high;
  const char* values;  // values of an enum, comma-separated, in the order of its enumerators
};

constexpr Rule kRules[] = {
#define HR_KNOB_RULE(name, type, text, low, high, values, scope, sentence) \
  {{#name, type, scope, text, sentence}, low, high, values},
    HR_KNOBS(HR_KNOB_RULE)
#undef HR_KNOB_RULE
};

// Names of knobs in earlier versions; nullptr ends the list.
struct FormerName {
  const char* former;
  const char* name;
};
constexpr FormerName kFormerNames[] = {
#define HR_FORMER_NAME(former, name) {former, name},
    HR_FORMER_KNOBS(HR_FORMER_NAME){nullptr, nullptr}
#undef HR_FORMER_NAME
};

// Returns the current name of the knob that was called `name` in an earlier version; empty if there is none.
std::string_view renamed(std::string_view name) noexcept {
  for (const FormerName* each = kFormerNames; each->former != nullptr; ++each) {
    if (each->former == name) return each->name;
  }
  return {};
}

constexpr std::size_t kKnobCount = std::size(kRules);

constexpr auto kRecords = [] {
  std::array<KnobRecord, kKnobCount> records{};
  for (std::size_t index = 0; index < kKnobCount; ++index) records[index] = kRules[index].record;
  return records;
}();

// Returns the index of `wanted` in a comma-separated list.
std::optional<int> position_in(std::string_view list, std::string_view wanted) noexcept {
  for (int position = 0;; ++position) {
    const auto comma = list.find(',');
    if (list.substr(0, comma) == wanted) return position;
    if (comma == std::string_view::npos) return std::nullopt;
    list.remove_prefix(comma + 1);
  }
}

template <class Number>
std::optional<Number> number(std::string_view text) noexcept {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Parses a number of bytes, with K, M, G or T (powers of 1024; "64K", "64KB" and "64KiB" are the same).
std::optional<std::size_t> bytes(std::string_view text) noexcept {
  int shift = 0;
  if (const auto digits = text.find_first_not_of("0123456789"); digits != std::string_view::npos) {
    std::string_view unit = text.substr(digits);
    constexpr std::string_view kUnits = "kmgt";
    const auto place = kUnits.find(static_cast<char>(unit[0] | 0x20));
    if (place != std::string_view::npos) {
      shift = 10 * (static_cast<int>(place) + 1);
      unit.remove_prefix(1);
      if (unit.starts_with('i')) unit.remove_prefix(1);
    }
    if (!unit.empty() && unit != "B" && unit != "b") return std::nullopt;
    text = text.substr(0, digits);
  }
  const auto value = number<std::size_t>(text);
  if (!value || *value > (std::numeric_limits<std::size_t>::max() >> shift)) return std::nullopt;
  return *value << shift;
}

template <class T>
std::optional<T> parse(std::string_view text, const char* values) {
  if constexpr (std::is_same_v<T, std::string>) {
    return std::string(text);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (const auto position = position_in("0,false,off,no,1,true,on,yes", text)) return *position >= 4;
    return std::nullopt;
  } else if constexpr (std::is_enum_v<T>) {
    if (const auto position = position_in(values, text)) return static_cast<T>(*position);
    return std::nullopt;
  } else if constexpr (std::is_same_v<T, std::size_t>) {
    return bytes(text);
  } else {
    return number<T>(text);
  }
}

// The default is always allowed, even if it lies outside the range ("0 chooses automatically").
template <class T>
bool allowed(const T& value, const Rule& rule) {
  if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    if (rule.low[0] == '\0' || value == parse<T>(rule.record.default_text, rule.values)) return true;
    return value >= *parse<T>(rule.low, "") && value <= *parse<T>(rule.high, "");
  }
  return true;
}

template <class T>
bool store(T& member, std::string_view text, const Rule& rule) {
  auto value = parse<T>(text, rule.values);
  if (!value || !allowed(*value, rule)) return false;
  member = std::move(*value);
  return true;
}

template <class T>
std::string as_text(const T& value, [[maybe_unused]] const Rule& rule) {
  if constexpr (std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_enum_v<T>) {
    std::string_view list = rule.values;
    for (int skip = static_cast<int>(value); skip > 0; --skip) list.remove_prefix(list.find(',') + 1);
    return std::string(list.substr(0, list.find(',')));
  } else {
    char text[64];
    const auto result = std::to_chars(text, text + sizeof text, value);
    return std::string(text, result.ptr);
  }
}

// Applies visit(member, rule) to the knob at `index`.
template <class Visit>
auto visit_knob(Knobs& values, std::size_t index, Visit&& visit) {
  std::size_t at = 0;
#define HR_KNOB_VISIT(name, ...) \
  if (index == at++) return visit(values.name, kRules[at - 1]);
  HR_KNOBS(HR_KNOB_VISIT)
#undef HR_KNOB_VISIT
  std::abort();  // an index that is not one of knob_records()
}

std::optional<std::size_t> index_of(std::string_view name) noexcept {
  for (std::size_t index = 0; index < kKnobCount; ++index) {
    if (name == kRules[index].record.name) return index;
  }
  return std::nullopt;
}

bool of_job(std::size_t index) noexcept { return std::string_view(kRecords[index].scope) == "job"; }

std::string variable_of(const char* name) {
  std::string variable = "HEADRACE_";
  for (; *name != '\0'; ++name) variable += *name >= 'a' && *name <= 'z' ? static_cast<char>(*name - 32) : *name;
  return variable;
}

// Describes the values that are accepted.
std::string expected(const Rule& rule) {
  if (rule.values[0] != '\0') return std::string("one of ") + rule.values;
  std::string text = std::string("a value of type ") + rule.record.type;
  if (rule.low[0] != '\0') text += std::string(" from ") + rule.low + " to " + rule.high;
  return text;
}

class Store {
 public:
  // Reports are written directly to standard error, as the log gets its level from the knobs.
  Store() {
    read_file();
    for (const FormerName* each = kFormerNames; each->former != nullptr; ++each) {
      const std::string variable = variable_of(each->former);
      const char* text = environment(variable.c_str());
      if (text == nullptr) continue;
      note_former("environment", variable, variable_of(each->name));
      set(*index_of(each->name), text, KnobOrigin::kEnvironment, variable.c_str());
    }
    for (std::size_t index = 0; index < kKnobCount; ++index) {
      const std::string variable = variable_of(kRules[index].record.name);
      if (const char* text = environment(variable.c_str())) {
        set(index, text, KnobOrigin::kEnvironment, variable.c_str());
      }
    }
    take_tuned();
  }

  bool set(std::size_t index, std::string_view text, KnobOrigin origin, const char* where) {
    const bool stored =
        visit_knob(values_, index, [&](auto& member, const Rule& rule) { return store(member, trimmed(text), rule); });
    if (stored) {
      origins_[index] = origin;
    } else if (where != nullptr) {
      std::fprintf(stderr, "[headrace] %s: \"%.*s\" is not %s; %s keeps its value %s\n", where,
                   static_cast<int>(text.size()), text.data(), expected(kRules[index]).c_str(),
                   kRules[index].record.name, text_of(index).c_str());
    }
    return stored;
  }

  std::string text_of(std::size_t index) {
    return visit_knob(values_, index, [](auto& member, const Rule& rule) { return as_text(member, rule); });
  }

  std::optional<std::size_t> tuned_for_peers(std::string_view name, std::string_view peers) const {
    for (const TunedBytes& each : of_peers_) {
      if (each.peers != peers || kRecords[each.index].name != name) continue;
      const KnobOrigin origin = origins_[each.index];
      if (origin == KnobOrigin::kDefault || origin == KnobOrigin::kTuned) return each.bytes;
    }
    return std::nullopt;
  }

  const TunedKnobs& tuned() const noexcept { return tuned_; }
  const Knobs& values() const noexcept { return values_; }
  KnobOrigin origin(std::size_t index) const noexcept { return origins_[index]; }

 private:
  // Called last, as the file's name is a knob; sets only knobs that are still unset.
  void take_tuned() {
    tuned_ = read_tuned_knobs(values_.tuning_file);
    if (!tuned_.problem.empty()) {
      std::fprintf(stderr, "[headrace] tuned messages %s: %s; continuing without them\n", tuned_.path.c_str(),
                   tuned_.problem.c_str());
    }
    for (const auto& [name, text] : tuned_.values) {
      const auto index = index_of(name);
      if (!index) {
        std::fprintf(stderr, "[headrace] %s: no knob is called \"%s\"\n", tuned_.path.c_str(), name.c_str());
      } else if (origins_[*index] == KnobOrigin::kDefault) {
        set(*index, text, KnobOrigin::kTuned, tuned_.path.c_str());
      }
    }
    for (const TunedForPeers& each : tuned_.of_peers) take_tuned(each);
  }

  void take_tuned(const TunedForPeers& tuned) {
    const auto index = index_of(tuned.name);
    std::size_t value = 0;
    if (index && std::string_view(kRecords[*index].type) == "size" && store(value, tuned.text, kRules[*index])) {
      of_peers_.push_back({*index, tuned.peers, value});
    } else {
      std::fprintf(stderr,
                   "[headrace] %s: \"%s @ %s = %s\" is not a knob of bytes and a value of it; it has no effect\n",
                   tuned_.path.c_str(), tuned.name.c_str(), tuned.peers.c_str(), tuned.text.c_str());
    }
  }

  void read_file() {
    std::string path;
    if (const char* named = environment("HEADRACE_CONFIG_FILE")) {
      path = named;
    } else if (const std::string directory = config_directory(); !directory.empty()) {
      path = directory + "/headrace.conf";
    }
    if (path.empty()) return;
    std::string text;
    if (const Status read = hr::read_file(path, kLargestTextFile, &text); !read.ok()) {
      const std::string why = take_detail();
      if (read.errc() == Errc::kNoSuchFile && environment("HEADRACE_CONFIG_FILE") == nullptr) return;
      std::fprintf(stderr, "[headrace] configuration file %s: it %s; continuing without it\n", path.c_str(),
                   why.c_str());
      return;
    }
    std::istringstream lines(text);
    std::string line;
    for (int line_number = 1; std::getline(lines, line); ++line_number) {
      read_line(line, (path + ":" + std::to_string(line_number)).c_str());
    }
  }

  // Prints the note on rank 0 only, as all ranks have the same environment, and outside jobs.
  static void note_former(const char* where, std::string_view former, std::string_view name) {
    for (const char* const rank : {environment("PMI_RANK"), environment("PMIX_RANK")}) {
      if (rank != nullptr && std::string_view(rank) != "0") return;
    }
    std::fprintf(stderr, "[headrace] %s: %.*s is called %.*s now; the old name is accepted until the next release\n",
                 where, static_cast<int>(former.size()), former.data(), static_cast<int>(name.size()), name.data());
  }

  void read_line(std::string_view line, const char* where) {
    const auto [name, value, has_value] = parse_setting_line(line);
    if (name.empty() && !has_value) return;
    const std::string_view present = renamed(name);
    const auto index = index_of(present.empty() ? name : present);
    if (!has_value) {
      std::fprintf(stderr, "[headrace] %s: not a \"name = value\" line\n", where);
    } else if (!index) {
      std::fprintf(stderr, "[headrace] %s: no knob is called \"%.*s\"; `headrace config` lists them\n", where,
                   static_cast<int>(name.size()), name.data());
    } else {
      if (!present.empty()) note_former(where, name, present);
      set(*index, value, KnobOrigin::kFile, where);
    }
  }

  struct TunedBytes {
    std::size_t index;
    std::string peers;
    std::size_t bytes;
  };

  Knobs values_;
  TunedKnobs tuned_;
  std::vector<TunedBytes> of_peers_;
  std::array<KnobOrigin, kKnobCount> origins_{};
};

Store& the_store() {
  static Store store;
  return store;
}

}  // namespace

const Knobs& knobs() noexcept { return the_store().values(); }

std::span<const KnobRecord> knob_records() noexcept { return kRecords; }

std::string knob_text(std::size_t index) { return the_store().text_of(index); }

std::string knob_text(std::string_view name) {
  const auto index = index_of(name);
  return index ? knob_text(*index) : std::string();
}

KnobOrigin knob_origin(std::size_t index) noexcept { return the_store().origin(index); }

const TunedKnobs& tuned_knobs() noexcept { return the_store().tuned(); }

std::optional<std::size_t> tuned_for_peers(std::string_view name, std::string_view peers) {
  return the_store().tuned_for_peers(name, peers);
}

bool set_knob(std::string_view name, std::string_view text) {
  const auto index = index_of(name);
  return index && the_store().set(*index, text, KnobOrigin::kTool, nullptr);
}

std::vector<JobKnob> job_knobs() {
  std::vector<JobKnob> knobs;
  for (std::size_t index = 0; index < kKnobCount; ++index) {
    if (of_job(index) && the_store().origin(index) != KnobOrigin::kDefault) {
      knobs.push_back({kRecords[index].name, knob_text(index)});
    }
  }
  return knobs;
}

std::vector<JobKnob> take_job_knobs(std::span<const JobKnob> told) {
  std::vector<JobKnob> differed;
  for (std::size_t index = 0; index < kKnobCount; ++index) {
    if (!of_job(index)) continue;
    const auto of_this_name = [&](const JobKnob& each) { return each.name == kRecords[index].name; };
    const auto named = std::find_if(told.begin(), told.end(), of_this_name);
    std::string own = knob_text(index);
    const KnobOrigin origin = the_store().origin(index);
    if (named == told.end() && origin == KnobOrigin::kDefault) continue;
    const std::string_view text = named != told.end() ? named->text : std::string_view(kRecords[index].default_text);
    the_store().set(index, text, KnobOrigin::kJob, nullptr);
    const bool own_choice =
        origin != KnobOrigin::kDefault && origin != KnobOrigin::kTuned && origin != KnobOrigin::kJob;
    if (own_choice && own != knob_text(index)) differed.push_back({kRecords[index].name, std::move(own)});
  }
  return differed;
}

std::string config_directory() {
  if (const char* config = environment("XDG_CONFIG_HOME"); config != nullptr && *config != '\0') return config;
  const char* home = environment("HOME");
  return home != nullptr && *home != '\0' ? std::string(home) + "/.config" : std::string();
}

const char* environment(const char* name) noexcept { return std::getenv(name); }

}  // namespace hr
