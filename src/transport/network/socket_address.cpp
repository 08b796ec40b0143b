#include "transport/network/socket_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace hr::transport::network {

socklen_t length_of(const sockaddr_storage& address) noexcept {
  if (address.ss_family == AF_INET) return sizeof(sockaddr_in);
  return address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
}

bool read_address(std::span<const std::byte> bytes, sockaddr_storage* out) noexcept {
  sockaddr_storage read{};
  if (bytes.size() > sizeof read || bytes.size() < sizeof(sa_family_t)) return false;
  std::memcpy(&read, bytes.data(), bytes.size());
  if (length_of(read) == 0 || bytes.size() != length_of(read) || port_of(read) == 0) return false;
  *out = read;
  return true;
}

// The port is at the same place in both families.
std::uint16_t port_of(const sockaddr_storage& address) noexcept {
  return reinterpret_cast<const sockaddr_in&>(address).sin_port;
}

sockaddr_storage with_port(sockaddr_storage address, std::uint16_t port) noexcept {
  reinterpret_cast<sockaddr_in&>(address).sin_port = port;
  return address;
}

bool is_loopback(const sockaddr_storage& address) noexcept {
  if (address.ss_family == AF_INET)
    return ntohl(reinterpret_cast<const sockaddr_in&>(address).sin_addr.s_addr) >> 24 == 127;
  return address.ss_family == AF_INET6 &&
         IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(address).sin6_addr);
}

std::string text_of(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(address);
    ::inet_ntop(AF_INET, &four.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(four.sin_port));
  }
  const auto& six = reinterpret_cast<const sockaddr_in6&>(address);
  if (address.ss_family == AF_INET6) ::inet_ntop(AF_INET6, &six.sin6_addr, text, sizeof text);
  return "[" + std::string(text) + "]:" + std::to_string(ntohs(six.sin6_port));
}

}  // namespace hr::transport::network
