#include "base/secret.hpp"

#include <sys/random.h>

#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace hr {
namespace {

constexpr std::size_t kWordDigits = 16;

struct Sip {
  std::uint64_t a, b, c, d;

  void round() noexcept {
    a += b;
    c += d;
    b = std::rotl(b, 13) ^ a;
    d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32);
    c += b;
    a += d;
    b = std::rotl(b, 17) ^ c;
    d = std::rotl(d, 21) ^ a;
    c = std::rotl(c, 32);
  }
  void take(std::uint64_t word) noexcept {
    d ^= word;
    round();
    round();
    a ^= word;
  }
};

bool is_digit(char letter) noexcept {
  return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f') || (letter >= 'A' && letter <= 'F');
}

bool read_word(std::string_view text, std::uint64_t* word) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *word, 16);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Nonce make_nonce() {
  Nonce nonce{};
  if (::getrandom(nonce.data(), sizeof nonce, 0) != static_cast<ssize_t>(sizeof nonce)) std::abort();
  return nonce;
}

std::string digits_of(const Nonce& nonce) {
  char text[2 * kWordDigits + 1];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(nonce[0]),
                static_cast<unsigned long long>(nonce[1]));
  return text;
}

bool read_digits(std::string_view text, Nonce* nonce) {
  Nonce read{};
  const bool good = text.size() == 2 * kWordDigits && read_word(text.substr(0, kWordDigits), &read[0]) &&
                    read_word(text.substr(kWordDigits), &read[1]);
  if (good) *nonce = read;
  return good;
}

std::uint64_t keyed_hash(const Nonce& key, std::string_view text) {
  Sip sip{key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d, key[0] ^ 0x6c7967656e657261,
          key[1] ^ 0x7465646279746573};
  std::uint64_t word = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    word |= static_cast<std::uint64_t>(static_cast<unsigned char>(text[at])) << (at % 8 * 8);
    if (at % 8 != 7) continue;
    sip.take(word);
    word = 0;
  }
  sip.take(word | static_cast<std::uint64_t>(text.size()) << 56);
  sip.c ^= 0xff;
  for (int round = 0; round < 4; ++round) sip.round();
  return sip.a ^ sip.b ^ sip.c ^ sip.d;
}

bool equal_secrets(std::string_view one, std::string_view other) noexcept {
  if (one.size() != other.size()) return false;
  unsigned char difference = 0;
  for (std::size_t at = 0; at < one.size(); ++at)
    difference = static_cast<unsigned char>(difference | (one[at] ^ other[at]));
  return difference == 0;
}

std::string without_secrets(std::string_view text, std::size_t digits) {
  std::string shown;
  while (!text.empty()) {
    std::size_t run = 0;
    while (run < text.size() && is_digit(text[run])) ++run;
    if (run >= digits) {
      shown += "...";
    } else {
      shown += text.substr(0, run);
    }
    text.remove_prefix(run);
    while (!text.empty() && !is_digit(text.front())) {
      shown += text.front();
      text.remove_prefix(1);
    }
  }
  return shown;
}

}  // namespace hr
