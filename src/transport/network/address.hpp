// Addresses of processes in the launcher's key-value space, as text of characters that every launcher accepts, under as
// many keys as their length needs. The text begins with the name of the network transport that it belongs to.
//
// Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hr::transport::network {

// Publishes this process's address, before the exchange. `network`: name of the transport. `host`: name of its host;
// cut if longer than 255 bytes.
Status publish_address(std::string_view network, int rank, std::span<const std::byte> address, const std::string& host);
// Fetches the address of another process, after the exchange. Errors: the launcher's; MPI_ERR_OTHER for text that
// publish_address() did not write, and if that process uses another network transport.
Status fetch_address(std::string_view network, int rank, std::vector<std::byte>* address, std::string* host);

// Appends the secret to the address (names.hpp).
void append_secret(std::uint64_t secret, std::vector<std::byte>* address);
// Removes the secret from the end. False: there is none, or nothing before it.
[[nodiscard]] bool split_secret(std::vector<std::byte>* address, std::uint64_t* secret);

// Writes three bytes as four letters, digits, '-' or '_'.
[[nodiscard]] std::string encode(std::span<const std::byte> bytes);
// Returns false for text that encode() did not write.
[[nodiscard]] bool decode(std::string_view text, std::vector<std::byte>* bytes);

}  // namespace hr::transport::network
