#include "transport/network/address.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

#include "boot/boot.hpp"
#include "boot/numbered_values.hpp"

namespace hr::transport::network {
namespace {

constexpr std::size_t kPiece = 900;        // length of a value that every launcher accepts
constexpr std::size_t kReasonBytes = 600;  // maximum length of a reason; its encoded form fits into a value
constexpr int kBlock = 128;                // number of processes whose addresses are requested at once
constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string key_of(const std::string& rank, std::size_t piece) {
  return "headrace-network-" + rank + "-" + std::to_string(piece);
}

template <class Plain>
void append(const Plain& value, std::vector<std::byte>* bytes) {
  const auto its = std::as_bytes(std::span(&value, 1));
  bytes->insert(bytes->end(), its.begin(), its.end());
}

// Removes the value from the end. False if there is none, or nothing before it.
template <class Plain>
bool split_off(std::vector<std::byte>* bytes, Plain* value) {
  if (bytes->size() <= sizeof *value) return false;
  const std::size_t length = bytes->size() - sizeof *value;
  std::memcpy(value, bytes->data() + length, sizeof *value);
  bytes->resize(length);
  return true;
}

}  // namespace

void append_secret(std::uint64_t secret, std::vector<std::byte>* address) { append(secret, address); }

bool split_secret(std::vector<std::byte>* address, std::uint64_t* secret) { return split_off(address, secret); }

void append_port(std::uint16_t port, std::vector<std::byte>* address) { append(port, address); }

bool split_port(std::vector<std::byte>* address, std::uint16_t* port) { return split_off(address, port); }

std::string encode(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8 | (i < count ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0);
    for (std::size_t i = 0; i <= count; ++i) text += kLetters[group >> (18 - 6 * i) & 63];
  }
  return text;
}

bool decode(std::string_view text, std::vector<std::byte>* bytes) {
  bytes->clear();
  if (text.size() % 4 == 1) return false;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const std::string_view letters = text.substr(at, 4);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::size_t value = i < letters.size() ? kLetters.find(letters[i]) : 0;
      if (value == std::string_view::npos) return false;
      group = group << 6 | static_cast<std::uint32_t>(value);
    }
    for (std::size_t i = 0; i + 1 < letters.size(); ++i)
      bytes->push_back(static_cast<std::byte>(group >> (16 - 8 * i)));
  }
  return true;
}

// The first value begins with the transport's name and the length of the string: "ucx.212.ABC...". The host's name, and
// its length as a byte, follow the address.
Status publish_address(std::string_view network, int rank, std::span<const std::byte> address,
                       const std::string& host) {
  std::vector<std::byte> bytes(address.begin(), address.end());
  const std::size_t length = std::min<std::size_t>(host.size(), 255);
  const auto name = std::as_bytes(std::span(host.data(), length));
  bytes.insert(bytes.end(), name.begin(), name.end());
  bytes.push_back(static_cast<std::byte>(length));
  std::string text = encode(bytes);
  text = std::string(network) + "." + std::to_string(text.size()) + "." + text;
  for (std::size_t from = 0, piece = 0; from < text.size(); from += kPiece, ++piece) {
    HR_TRY(boot::put(key_of(std::to_string(rank), piece), std::string_view(text).substr(from, kPiece)));
  }
  return kOk;
}

// Publishes the string "none." followed by the encoded host name and reason ("none.ABC...").
Status publish_absence(int rank, const std::string& host, std::string_view why) {
  const std::string text = "host " + host.substr(0, 255) + ": " + std::string(why);
  const std::string_view start = std::string_view(text).substr(0, kReasonBytes);
  return boot::put(key_of(std::to_string(rank), 0), "none." + encode(std::as_bytes(std::span(start))));
}

namespace {

// Returns the reason that a process published in place of its address; empty if it published no reason.
std::string reason_of(std::string_view published) {
  constexpr std::string_view kNone = "none.";
  std::vector<std::byte> bytes;
  if (!published.starts_with(kNone) || !decode(published.substr(kNone.size()), &bytes)) return {};
  std::string reason(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::ranges::replace_if(reason, [](unsigned char each) { return each < ' '; }, ' ');
  return reason;
}

// Removes and returns the host's name from the end; false if there is none.
bool split(std::vector<std::byte>* bytes, std::string* host) {
  if (bytes->empty()) return false;
  const auto length = std::to_integer<std::size_t>(bytes->back());
  if (bytes->size() < length + 1) return false;
  const std::byte* const name = bytes->data() + bytes->size() - 1 - length;
  host->assign(reinterpret_cast<const char*>(name), length);
  bytes->resize(bytes->size() - 1 - length);
  return true;
}

}  // namespace

Status Addresses::block_at(int first, std::vector<std::string>** block) {
  const auto [found, fresh] = blocks_.try_emplace(first);
  *block = &found->second;
  if (!fresh) return kOk;
  const int count = std::min(kBlock, ranks_ - first);
  (*block)->resize(static_cast<std::size_t>(count));
  return boot::get_numbered(key_of("*", 0), first, count, *block);
}

Status Addresses::prefetch() {
  std::vector<std::string>* block = nullptr;
  return ranks_ <= kBlock ? block_at(0, &block) : kOk;
}

Status Addresses::first_part(int rank, std::string* text) {
  const int first = rank / kBlock * kBlock;
  std::vector<std::string>* block = nullptr;
  HR_TRY(block_at(first, &block));
  *text = std::exchange((*block)[static_cast<std::size_t>(rank - first)], {});
  return text->empty() ? boot::get(rank, key_of(std::to_string(rank), 0), text) : kOk;
}

Status Addresses::fetch(int rank, std::vector<std::byte>* address, std::string* host) {
  std::string text;
  HR_TRY(first_part(rank, &text));
  if (const std::string reason = reason_of(text); !reason.empty()) {
    return fail(Errc::kOther, "rank %d has no network transport on %s", rank, reason.c_str());
  }
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string its = text.substr(0, dot);
  const bool named = (its == network_ || its == "ucx" || its == "ofi" || its == "tcp") && dot < text.size();
  if (named) text.erase(0, dot + 1);
  std::size_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  const auto digits = static_cast<std::size_t>(end - text.data());
  const bool good = named && error == std::errc() && digits < text.size() && *end == '.';
  std::string more;
  for (std::size_t piece = 1; good && text.size() < digits + 1 + length; ++piece) {
    HR_TRY(boot::get(rank, key_of(std::to_string(rank), piece), &more));
    if (more.empty()) break;
    text += more;
  }
  if (good && text.size() == digits + 1 + length && decode(std::string_view(text).substr(digits + 1), address) &&
      split(address, host)) {
    if (its == network_) return kOk;
    return fail(Errc::kOther,
                "this process uses the network transport %.*s, and rank %d on host %s uses %s: set HEADRACE_NETWORK to "
                "one that both hosts have",
                static_cast<int>(network_.size()), network_.data(), rank, host->c_str(), its.c_str());
  }
  return fail(Errc::kOther, "the launcher handed out \"%.100s\" as the network address of rank %d", text.c_str(), rank);
}

}  // namespace hr::transport::network
