#include "wire/handshake.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace hr::launcher {
namespace {

constexpr std::string_view kHandshake = "headrace-mpiexec ";
constexpr std::string_view kProof = "headrace-agent ";
constexpr std::size_t kDigits = 16;

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

std::string handshake_line(const Nonce& nonce) { return std::string(kHandshake) + digits_of(nonce) + "\n"; }

std::optional<Nonce> read_handshake(std::string_view line) {
  line = without_return(line);
  Nonce nonce{};
  if (!line.starts_with(kHandshake) || !read_digits(line.substr(kHandshake.size()), &nonce)) return std::nullopt;
  return nonce;
}

std::string proof_line(const Nonce& nonce, std::string_view version) {
  // The leading newline ends a line that a shell may have left incomplete.
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
