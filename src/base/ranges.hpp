// Writes an ascending list of integers as "0-3,7".
#pragma once

#include <string>

namespace hr {

template <class Numbers>
std::string as_ranges(const Numbers& numbers) {
  std::string text;
  for (auto at = numbers.begin(); at != numbers.end();) {
    auto last = at;
    auto next = at;
    while (++next != numbers.end() && *next == *last + 1) last = next;
    text += (text.empty() ? "" : ",") + std::to_string(*at);
    if (last != at) text += "-" + std::to_string(*last);
    at = next;
  }
  return text;
}

}  // namespace hr
