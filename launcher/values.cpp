#include "values.hpp"

#include <strings.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace hr::launcher {
namespace {

constexpr double kMostSeconds = 1e9;

struct Place {
  std::string_view name;
  topo::Binding binding;
};

constexpr Place kPlaces[] = {
    {"auto", topo::Binding::kShare},     {"core", topo::Binding::kCore},     {"hwthread", topo::Binding::kThread},
    {"numa", topo::Binding::kNuma},      {"socket", topo::Binding::kSocket}, {"none", topo::Binding::kNone},
    {"package", topo::Binding::kSocket}, {"hwt", topo::Binding::kThread},    {"board", topo::Binding::kNone},
    {"machine", topo::Binding::kNone},
};

struct RoundRobinLevel {
  std::string_view name;
  std::optional<topo::Level> level;  // nullopt: as they come
};

constexpr RoundRobinLevel kRoundRobinLevels[] = {
    {"slot", {}},
    {"node", {}},
    {"core", topo::Level::kCore},
    {"hwthread", topo::Level::kThread},
    {"numa", topo::Level::kNuma},
    {"socket", topo::Level::kSocket},
    {"package", topo::Level::kSocket},
};

const RoundRobinLevel* find_round_robin_level(std::string_view name) {
  for (const RoundRobinLevel& each : kRoundRobinLevels) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

// What other launchers allow after a place: ranks may always outnumber cores here.
bool is_so_anyway(std::string_view modifier) {
  for (const std::string_view each :
       {"overload-allowed", "if-supported", "oversubscribe", "no-oversubscribe", "span"}) {
    if (alike(modifier, each)) return true;
  }
  return false;
}

// The words after the first, which is the place.
Status check_modifiers(const ParsedOption& given, const std::vector<std::string>& words) {
  for (std::size_t at = 1; at < words.size(); ++at) {
    if (is_so_anyway(words[at])) continue;
    return fail(Errc::kOther, "%s: mpiexec does not know what \"%s\" means there", given.text().c_str(),
                words[at].c_str());
  }
  return kOk;
}

}  // namespace

bool alike(std::string_view one, std::string_view two) {
  return one.size() == two.size() && ::strncasecmp(one.data(), two.data(), one.size()) == 0;
}

bool read_number(std::string_view text, int* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size() && *value >= 1 && *value <= kMostRanks;
}

std::vector<std::string> split(std::string_view text, char sign) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const auto end = text.find(sign);
    if (end != 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return parts;
}

Status read_count(const ParsedOption& given, const char* what, int* value) {
  if (read_number(given.value(), value)) return kOk;
  return fail(Errc::kOther, "%s: %s is a whole number from 1 to %d", given.text().c_str(), what, kMostRanks);
}

Status read_seconds(const std::string& where, const std::string& text, double* seconds) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *seconds);
  if (error == std::errc() && end == text.data() + text.size() && *seconds > 0 && *seconds <= kMostSeconds) return kOk;
  return fail(Errc::kOther, "%s: seconds are a number above 0 and up to 1e9; without it a job has no limit",
              where.c_str());
}

Status read_binding(const ParsedOption& given, topo::Placing* placing) {
  const std::vector<std::string> words = split(given.value(), ':');
  const std::string name = words.empty() ? "" : words[0];
  HR_TRY(check_modifiers(given, words));
  for (const Place& place : kPlaces) {
    if (place.name != name) continue;
    placing->binding = place.binding;
    return kOk;
  }
  return fail(Errc::kOther, "%s: ranks are bound to core, hwthread, numa, socket, none, or auto", given.text().c_str());
}

Status read_mapping(const ParsedOption& given, topo::Placing* placing, int* per_host, bool* by_host) {
  std::vector<std::string> words = split(given.value(), ':');
  int each = 1;
  const bool grouped = words.size() >= 3 && words[0] == "ppr";
  if (grouped) {
    if (!read_number(words[1], &each)) {
      return fail(Errc::kOther, "%s: ppr:N:PLACE wants a whole number from 1 to %d for N", given.text().c_str(),
                  kMostRanks);
    }
    words.erase(words.begin(), words.begin() + 2);
  }
  const RoundRobinLevel* found = words.empty() ? nullptr : find_round_robin_level(words[0]);
  if (found == nullptr) {
    return fail(Errc::kOther, "%s: ranks go by slot, core, hwthread, numa, socket, node, or ppr:N: and one of these",
                given.text().c_str());
  }
  HR_TRY(check_modifiers(given, words));
  placing->is_round_robin = found->level.has_value();
  if (found->level) placing->round_robin_level = *found->level;
  placing->in_order = !placing->is_round_robin;
  placing->each = each;
  if (grouped && found->name == "node") *per_host = each;
  *by_host = !grouped && found->name == "node";
  return kOk;
}

Status read_output_directory(const ParsedOption& given, std::string text, Options* options) {
  constexpr std::string_view kNoCopy = ":nocopy";
  options->output_in_files_only = text.ends_with(kNoCopy);
  if (options->output_in_files_only) text.resize(text.size() - kNoCopy.size());
  if (text.empty()) return fail(Errc::kOther, "%s: a directory's name is missing", given.text().c_str());
  options->output_directory = std::move(text);
  return kOk;
}

}  // namespace hr::launcher
