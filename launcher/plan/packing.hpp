// Converts numbers and strings to bytes, and back. Input is checked: Reader::ok() is true if everything was present and
// in range. Plain values; a Reader borrows the bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hr::launcher {

using KeyValue = std::pair<std::string, std::string>;

class Writer {
 public:
  void number(std::int64_t value) {
    for (int at = 0; at < 8; ++at) bytes_ += static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * at) & 0xff);
  }
  void text(std::string_view value) {
    number(static_cast<std::int64_t>(value.size()));
    bytes_ += value;
  }
  void texts(const std::vector<std::string>& values) {
    number(static_cast<std::int64_t>(values.size()));
    for (const std::string& each : values) text(each);
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) noexcept : rest_(bytes) {}

  std::int64_t number() noexcept {
    if (rest_.size() < 8) return fail();
    std::uint64_t value = 0;
    for (std::size_t at = 8; at-- > 0;) value = value << 8 | static_cast<unsigned char>(rest_[at]);
    rest_.remove_prefix(8);
    return static_cast<std::int64_t>(value);
  }
  // Reads a number that must be between `least` and `most`.
  std::int64_t number(std::int64_t least, std::int64_t most) noexcept {
    const std::int64_t value = number();
    return value < least || value > most ? fail() : value;
  }
  std::string text() {
    const std::size_t size = count(1);
    std::string value(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return value;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> values(count(8));
    for (std::string& each : values) each = text();
    return values;
  }
  // Reads the number of items that follow, each at least `bytes_each` long; a number for which too few bytes are left
  // is an error.
  std::size_t count(std::size_t bytes_each) noexcept {
    const std::int64_t value = number();
    if (value < 0 || static_cast<std::uint64_t>(value) > rest_.size() / bytes_each) {
      return static_cast<std::size_t>(fail());
    }
    return static_cast<std::size_t>(value);
  }

  [[nodiscard]] bool ok() const noexcept { return !failed_; }
  [[nodiscard]] bool done() const noexcept { return !failed_ && rest_.empty(); }
  [[nodiscard]] bool more() const noexcept { return !failed_ && !rest_.empty(); }

 private:
  std::int64_t fail() noexcept {
    failed_ = true;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace hr::launcher
