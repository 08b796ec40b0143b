#include "base/checks.hpp"

#include <algorithm>
#include <array>

#include "base/knobs.hpp"

namespace hr {
namespace {

constexpr std::array<std::string_view, 3> kWords{"device", "full", "types"};

// Returns the first word for which wanted(word) is true, or an empty string.
template <class Wanted>
std::string_view find(Wanted&& wanted) noexcept {
  for (std::string_view rest = knobs().check; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    if (!word.empty() && wanted(word)) return word;
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  return {};
}

}  // namespace

bool wants_check(std::string_view asked) noexcept {
  return !find([&](std::string_view word) { return word == asked || word == "full"; }).empty();
}

bool wants_full_check() noexcept {
  return !find([](std::string_view word) { return word == "full"; }).empty();
}

std::string unknown_check() {
  return std::string(find([](std::string_view word) { return std::ranges::find(kWords, word) == kWords.end(); }));
}

}  // namespace hr
