// The PMI-1 wire format: one line per message, "cmd=NAME key=value key=value\n".
//
// Shared by the client (pmi1.cpp) and the server in mpiexec. A WireMessage is a view into the caller's line: it owns
// nothing and must not outlive the line. Threads: one at a time.
#pragma once

#include <charconv>
#include <string_view>

namespace hr::boot {

// Separates the values of an answer; no key or value contains it.
inline constexpr char kBetweenValues = ';';

class WireMessage {
 public:
  // `line`: without its newline.
  explicit WireMessage(std::string_view line) noexcept : line_(line) {}

  [[nodiscard]] std::string_view command() const noexcept { return field("cmd"); }

  // Returns the value of the first field of that name, up to the next blank; empty if there is none.
  [[nodiscard]] std::string_view field(std::string_view name) const noexcept {
    std::string_view rest = line_;
    while (!rest.empty()) {
      const auto end = rest.find(' ');
      const std::string_view word = rest.substr(0, end);
      if (word.size() > name.size() && word[name.size()] == '=' && word.starts_with(name)) {
        return word.substr(name.size() + 1);
      }
      if (end == std::string_view::npos) break;
      rest.remove_prefix(end + 1);
    }
    return {};
  }

  [[nodiscard]] int number(std::string_view name, int otherwise) const noexcept {
    const std::string_view text = field(name);
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() && !text.empty() ? value : otherwise;
  }

 private:
  std::string_view line_;
};

}  // namespace hr::boot
