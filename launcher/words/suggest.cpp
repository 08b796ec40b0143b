#include "words/suggest.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace hr::launcher {
namespace {

bool same(char one, char other) {
  return std::tolower(static_cast<unsigned char>(one)) == std::tolower(static_cast<unsigned char>(other));
}

// Returns the number of letters to insert, remove or replace to turn one word into the other.
std::size_t edits(std::string_view one, std::string_view other) {
  std::vector<std::size_t> row(other.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const std::size_t replaced = diagonal + (same(one[i - 1], other[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

std::string nearest_word(std::string_view word, std::span<const std::string_view> known) {
  constexpr std::size_t kMostEdits = 2, kLongestWord = 32;
  std::string nearest;
  std::size_t least = kMostEdits + 1;
  if (word.size() > kLongestWord) return nearest;
  for (const std::string_view each : known) {
    const std::size_t distance = edits(word, each);
    // A known word with few letters in common with the given one is not what the user meant.
    if (distance >= least || distance * 2 > each.size()) continue;
    least = distance;
    nearest = each;
  }
  return nearest;
}

}  // namespace hr::launcher
