// Data of a checked message, and the search for wrong bytes.
#pragma once

#include <cstddef>
#include <vector>

namespace bench {

// Bytes after a receive buffer, which must stay unchanged.
inline constexpr std::size_t kGuard = 64;
inline constexpr unsigned char kGuardByte = 0xA5;

// Returns byte i of a buffer that `rank` sends.
inline unsigned char expected_byte(int rank, std::size_t i) {
  return static_cast<unsigned char>(i * 131 + (i >> 8) * 31 + static_cast<std::size_t>(rank) * 17 + 1);
}

inline std::vector<unsigned char> message_of(int rank, std::size_t bytes) {
  std::vector<unsigned char> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = expected_byte(rank, i);
  return data;
}

// Returns a receive buffer's initial content: the complement of `expected`, so that unwritten bytes are wrong too, and
// the guard.
inline std::vector<unsigned char> poison_for(const std::vector<unsigned char>& expected) {
  std::vector<unsigned char> data(expected.size() + kGuard, kGuardByte);
  for (std::size_t i = 0; i < expected.size(); ++i) data[i] = static_cast<unsigned char>(~expected[i]);
  return data;
}

// Returns the index of the first wrong byte of `found` (with its guard); found.size() if all are correct.
inline std::size_t first_wrong(const std::vector<unsigned char>& found, const std::vector<unsigned char>& expected) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != (i < expected.size() ? expected[i] : kGuardByte)) return i;
  }
  return found.size();
}

}  // namespace bench
