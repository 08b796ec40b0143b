// Address: all that a process publishes for others to reach it over libfabric.
//
// Plain functions over plain values. Threads: any.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "transport/network/names.hpp"

namespace hr::transport::ofi {

// Maximum length of an address in a provider's form.
inline constexpr std::size_t kMostPlace = 512;

struct Address {
  std::string terms = {};             // the provider and its settings (Fabric::terms())
  std::vector<std::byte> place = {};  // address in the provider's form
  std::uint16_t closed_port = 0;      // network/probe.hpp
  network::Secret secret = 0;
};

[[nodiscard]] std::vector<std::byte> encode_address(const Address& address);
// False if the bytes are too short.
[[nodiscard]] bool decode_address(std::vector<std::byte> bytes, Address* out);

// True if another process's place is an address of this format (FI_SOCKADDR_IN, ...): providers read as many bytes as
// the format or the family says. Nothing is known of the providers' own formats but their maximum length.
[[nodiscard]] bool is_place(std::uint32_t format, std::span<const std::byte> place) noexcept;
// Copies the socket address that a place contains. False if the format is another one.
[[nodiscard]] bool socket_of(std::uint32_t format, std::span<const std::byte> place, sockaddr_storage* out) noexcept;

}  // namespace hr::transport::ofi
