#include "hello.hpp"

#include <sys/random.h>

#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace hr::launcher {
namespace {

constexpr std::string_view kHello = "headrace-mpiexec ";
constexpr std::string_view kProof = "headrace-agent ";
constexpr std::size_t kDigits = 16;

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

std::string hexadecimal(std::uint64_t value) {
  char text[kDigits + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::optional<std::uint64_t> read_hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != kDigits || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

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

Nonce make_nonce() {
  Nonce nonce{};
  if (::getrandom(nonce.data(), sizeof nonce, 0) != static_cast<ssize_t>(sizeof nonce)) std::abort();
  return nonce;
}

std::string hello_line(const Nonce& nonce) {
  return std::string(kHello) + hexadecimal(nonce[0]) + hexadecimal(nonce[1]) + "\n";
}

std::optional<Nonce> read_hello(std::string_view line) {
  line = without_return(line);
  if (!line.starts_with(kHello) || line.size() != kHello.size() + 2 * kDigits) return std::nullopt;
  const auto first = read_hexadecimal(line.substr(kHello.size(), kDigits));
  const auto second = read_hexadecimal(line.substr(kHello.size() + kDigits));
  if (!first || !second) return std::nullopt;
  return Nonce{*first, *second};
}

std::string proof_line(const Nonce& nonce, std::string_view version) {
  // The newline in front ends what a shell may have left unended.
  return "\n" + std::string(kProof) + std::string(version) + " " + hexadecimal(keyed_hash(nonce, version)) + "\n";
}

bool ProofSearch::is_proof(std::string_view line) {
  line = without_return(line);
  if (!line.starts_with(kProof)) return false;
  line.remove_prefix(kProof.size());
  const auto blank = line.find(' ');
  if (blank == std::string_view::npos) return false;
  const auto hash = read_hexadecimal(line.substr(blank + 1));
  version_ = line.substr(0, blank);
  return hash && *hash == keyed_hash(nonce_, version_);
}

bool ProofSearch::add(std::string_view bytes, std::string* rest) {
  while (!bytes.empty() && !gave_up()) {
    const auto end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    skipped_ += part.size() + 1;
    line_ += part.substr(0, kLongestLine - std::min(kLongestLine, line_.size()));
    if (end == std::string_view::npos) return false;
    bytes.remove_prefix(end + 1);
    if (is_proof(line_)) {
      *rest = bytes;
      return true;
    }
    if (!without_return(line_).empty()) last_line_ = line_;
    line_.clear();
  }
  return false;
}

}  // namespace hr::launcher
