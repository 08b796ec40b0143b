// Input of a fuzz target as a sequence of messages: two bytes of length, one of flags, then the message.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace fuzz {

// Calls take(message, flags) for each message; a message that the input cuts short has the rest of it.
template <class Take>
void for_each_message(const std::uint8_t* data, std::size_t size, Take&& take) {
  while (size >= 3) {
    const std::size_t length = std::min<std::size_t>(data[0] | data[1] << 8, size - 3);
    const unsigned flags = data[2];
    std::vector<std::byte> message(length);
    if (length != 0) std::memcpy(message.data(), data + 3, length);
    data += 3 + length;
    size -= 3 + length;
    take(message, flags);
  }
}

}  // namespace fuzz
