#include "words/values.hpp"

#include <strings.h>

#include <charconv>
#include <cmath>

namespace hr::launcher {
namespace {

constexpr double kMostSeconds = 1e9;

}  // namespace

std::string ParsedOption::text() const {
  std::string text = word;
  for (const std::string& value : values) text += " " + value;
  return text;
}

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
  return fail(Errc::kOther, "%s: %s must be an integer from 1 to %d", given.text().c_str(), what, kMostRanks);
}

Status read_seconds(const std::string& where, const std::string& text, double* seconds) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *seconds);
  if (error == std::errc() && end == text.data() + text.size() && *seconds > 0 && *seconds <= kMostSeconds) return kOk;
  return fail(Errc::kOther,
              "%s: the limit must be a number of seconds above 0 and up to 1e9; without it, a job has no limit",
              where.c_str());
}

}  // namespace hr::launcher
