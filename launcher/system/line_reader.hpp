// LineReader: splits bytes that arrive in pieces into lines, in time proportional to the number of bytes.
//
// A line longer than the limit is passed on up to the limit, and the rest is dropped as it arrives. A plain value. One
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace hr::launcher {

class LineReader {
 public:
  explicit LineReader(std::size_t longest) : longest_(longest) {}

  // Calls handle(line) for each line that is complete now, without its newline.
  template <class Handle>
  void add(std::string_view bytes, Handle&& handle) {
    while (!bytes.empty()) {
      const auto end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      begun_ += part.substr(0, longest_ - std::min(longest_, begun_.size()));
      if (end == std::string_view::npos) return;
      bytes.remove_prefix(end + 1);
      handle(std::string_view(begun_));
      begun_.clear();
      if (begun_.capacity() > kKept) begun_.shrink_to_fit();
    }
  }

  // Drops the start of an unfinished line. Must not be called from within handle().
  void forget() { begun_.clear(); }

 private:
  static constexpr std::size_t kKept = std::size_t{64} << 10;  // capacity that stays allocated for the next line

  std::size_t longest_;
  std::string begun_;  // a line whose end has not arrived
};

}  // namespace hr::launcher
