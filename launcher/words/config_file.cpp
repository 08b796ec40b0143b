#include "words/config_file.hpp"

#include <sstream>

#include "base/own_files.hpp"

namespace hr::launcher {
namespace {

// Splits a line into words; false if a quote is not closed.
bool split_line(const std::string& line, std::vector<std::string>* words) {
  std::string word;
  bool inside = false;
  char quote = '\0';
  for (std::size_t at = 0; at < line.size(); ++at) {
    const char sign = line[at];
    if (sign == '\\' && quote != '\'' && at + 1 < line.size()) {
      word += line[++at];
      inside = true;
    } else if (quote != '\0') {
      if (sign == quote) {
        quote = '\0';
      } else {
        word += sign;
      }
    } else if (sign == '"' || sign == '\'') {
      quote = sign;
      inside = true;
    } else if (sign == ' ' || sign == '\t' || sign == '\r') {
      if (inside) words->push_back(word);
      word.clear();
      inside = false;
    } else {
      word += sign;
      inside = true;
    }
  }
  if (inside) words->push_back(word);
  return quote == '\0';
}

}  // namespace

Status read_config_file(const std::string& path, std::vector<std::vector<std::string>>* parts) {
  std::string text;
  if (!read_file(path, kLargestTextFile, &text, Pipes::kGiven).ok())
    return fail(Errc::kOther, "-configfile %s: it %s", path.c_str(), take_detail().c_str());
  std::istringstream file(text);
  int number = 0;
  for (std::string line, next; std::getline(file, line);) {
    ++number;
    while (line.ends_with('\\') && std::getline(file, next)) {
      line.pop_back();
      line += next;
      ++number;
    }
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    std::vector<std::string> words;
    if (!split_line(line, &words)) {
      return fail(Errc::kOther, "-configfile %s, line %d: a quote has no end", path.c_str(), number);
    }
    // A file written for "mpiexec -configfile" may separate its programs with colons or line breaks.
    parts->emplace_back();
    for (std::string& word : words) {
      if (word != ":") {
        parts->back().push_back(std::move(word));
      } else if (!parts->back().empty()) {
        parts->emplace_back();
      }
    }
    if (parts->back().empty()) parts->pop_back();
  }
  if (parts->empty()) return fail(Errc::kOther, "-configfile %s: it names no program", path.c_str());
  return kOk;
}

}  // namespace hr::launcher
