// Socket addresses as processes publish them: IPv4 or IPv6, with a port.
//
// Plain functions. Threads: any.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace hr::transport::network {

// Returns the length of an address, by its family; 0 if the family is unknown.
[[nodiscard]] socklen_t length_of(const sockaddr_storage& address) noexcept;
// Copies an address that another process has published. False if the bytes are no address, or it has no port.
[[nodiscard]] bool read_address(std::span<const std::byte> bytes, sockaddr_storage* out) noexcept;
// Return an address's port, and the address with another port, in network byte order.
[[nodiscard]] std::uint16_t port_of(const sockaddr_storage& address) noexcept;
[[nodiscard]] sockaddr_storage with_port(sockaddr_storage address, std::uint16_t port) noexcept;
// True for 127.0.0.0/8 and ::1.
[[nodiscard]] bool is_loopback(const sockaddr_storage& address) noexcept;
// Returns "10.0.0.1:4242", for messages.
[[nodiscard]] std::string text_of(const sockaddr_storage& address);

}  // namespace hr::transport::network
