#include "md5.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace halo3d {
namespace {

constexpr std::array<int, 16> kRotations = {7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21};

struct Digest {
  std::array<std::uint32_t, 4> words = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};

  void add(const unsigned char* block) {
    std::array<std::uint32_t, 16> input;
    for (std::size_t i = 0; i < 16; ++i) {
      input[i] = 0;
      for (std::size_t byte = 0; byte < 4; ++byte) input[i] |= std::uint32_t{block[4 * i + byte]} << (8 * byte);
    }
    auto [a, b, c, d] = words;
    for (std::uint32_t step = 0; step < 64; ++step) {
      std::uint32_t mixed, index;
      switch (step / 16) {
        case 0:
          mixed = (b & c) | (~b & d);
          index = step;
          break;
        case 1:
          mixed = (d & b) | (~d & c);
          index = (5 * step + 1) % 16;
          break;
        case 2:
          mixed = b ^ c ^ d;
          index = (3 * step + 5) % 16;
          break;
        default:
          mixed = c ^ (b | ~d);
          index = 7 * step % 16;
          break;
      }
      // Table of the RFC: the integer part of 2^32 * |sin(step + 1)|.
      const auto constant = static_cast<std::uint32_t>(std::floor(4294967296.0 * std::fabs(std::sin(step + 1.0))));
      const std::uint32_t sum = a + mixed + constant + input[index];
      a = d;
      d = c;
      c = b;
      b += std::rotl(sum, kRotations[step / 16 * 4 + step % 4]);
    }
    words[0] += a;
    words[1] += b;
    words[2] += c;
    words[3] += d;
  }
};

}  // namespace

std::string md5(std::string_view text) {
  // Pads to whole 64-byte blocks: the message, a 1 bit, zeros, and the length in bits.
  std::string padded(text);
  padded += static_cast<char>(0x80);
  while (padded.size() % 64 != 56) padded += '\0';
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (unsigned byte = 0; byte < 8; ++byte) padded += static_cast<char>(bits >> (8 * byte) & 0xff);

  Digest digest;
  for (std::size_t at = 0; at < padded.size(); at += 64) {
    digest.add(reinterpret_cast<const unsigned char*>(padded.data()) + at);
  }
  std::string hex;
  for (const std::uint32_t word : digest.words) {
    for (unsigned byte = 0; byte < 4; ++byte) {
      hex += "0123456789abcdef"[word >> (8 * byte + 4) & 15];
      hex += "0123456789abcdef"[word >> (8 * byte) & 15];
    }
  }
  return hex;
}

}  // namespace halo3d
