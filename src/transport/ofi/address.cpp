#include "transport/ofi/address.hpp"

#include <rdma/fabric.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/network/address.hpp"
#include "transport/network/socket_address.hpp"

namespace hr::transport::ofi {
namespace {

constexpr std::size_t kInfinibandBytes = 48;  // sizeof(sockaddr_ib), whose header is not always there

bool is_of_sockets(std::uint32_t format) noexcept {
  return format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
}

bool has_family(std::uint32_t format, int family) noexcept {
  if (format == FI_SOCKADDR_IN) return family == AF_INET;
  return format == FI_SOCKADDR || family == AF_INET6;
}

}  // namespace

// The terms and a zero, the place, the closed port, and the secret.
std::vector<std::byte> encode_address(const Address& address) {
  const auto terms = std::as_bytes(std::span(address.terms.c_str(), address.terms.size() + 1));
  std::vector<std::byte> bytes(terms.begin(), terms.end());
  bytes.insert(bytes.end(), address.place.begin(), address.place.end());
  network::append_port(address.closed_port, &bytes);
  network::append_secret(address.secret, &bytes);
  return bytes;
}

bool decode_address(std::vector<std::byte> bytes, Address* out) {
  if (!network::split_secret(&bytes, &out->secret) || !network::split_port(&bytes, &out->closed_port)) return false;
  const auto zero = std::ranges::find(bytes, std::byte{0});
  if (zero == bytes.end() || zero + 1 == bytes.end()) return false;
  out->terms.assign(reinterpret_cast<const char*>(bytes.data()), static_cast<std::size_t>(zero - bytes.begin()));
  out->place.assign(zero + 1, bytes.end());
  return true;
}

bool is_place(std::uint32_t format, std::span<const std::byte> place) noexcept {
  if (place.empty() || place.size() > kMostPlace) return false;
  if (format == FI_SOCKADDR_IB) return place.size() >= kInfinibandBytes;
  if (format == FI_ADDR_STR) return std::ranges::find(place, std::byte{0}) != place.end();
  sockaddr_storage socket{};
  return !is_of_sockets(format) || socket_of(format, place, &socket);
}

bool socket_of(std::uint32_t format, std::span<const std::byte> place, sockaddr_storage* out) noexcept {
  if (!is_of_sockets(format) || place.size() < sizeof(sa_family_t)) return false;
  sockaddr_storage read{};
  std::memcpy(&read, place.data(), std::min(place.size(), sizeof read));
  const std::size_t length = network::length_of(read);
  if (length == 0 || place.size() < length || !has_family(format, read.ss_family)) return false;
  return network::read_address(place.first(length), out);
}

}  // namespace hr::transport::ofi
