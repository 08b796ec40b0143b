#include "values.hpp"

#include <strings.h>

#include <charconv>
#include <cmath>

namespace hr::launcher {
namespace {

constexpr double kMostSeconds = 1e9;

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

Status read_output_directory(const ParsedOption& given, std::string text, Options* options) {
  constexpr std::string_view kNoCopy = ":nocopy";
  options->output_in_files_only = text.ends_with(kNoCopy);
  if (options->output_in_files_only) text.resize(text.size() - kNoCopy.size());
  if (text.empty()) return fail(Errc::kOther, "%s: a directory's name is missing", given.text().c_str());
  options->output_directory = std::move(text);
  return kOk;
}

}  // namespace hr::launcher
