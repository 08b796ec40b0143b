// Addresses of UCX workers in the launcher's key-value space, as text of characters that every launcher accepts, under
// as many keys as their length needs.
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

namespace hr::transport::ucx {

// Publishes this process's address, before the exchange. `host`: name of its host; cut if longer than 255 bytes.
Status publish_address(int rank, std::span<const std::byte> address, const std::string& host);
// Fetches the address of another process, after the exchange. Errors: the launcher's; MPI_ERR_OTHER for text that
// publish_address() did not write.
Status fetch_address(int rank, std::vector<std::byte>* address, std::string* host);

// Appends the secret to the address of a worker (names.hpp).
void append_secret(std::uint64_t secret, std::vector<std::byte>* address);
// Removes the secret from the end. False: there is none, or nothing before it.
[[nodiscard]] bool split_secret(std::vector<std::byte>* address, std::uint64_t* secret);

// Writes three bytes as four letters, digits, '-' or '_'.
[[nodiscard]] std::string encode(std::span<const std::byte> bytes);
// Returns false for text that encode() did not write.
[[nodiscard]] bool decode(std::string_view text, std::vector<std::byte>* bytes);

}  // namespace hr::transport::ucx
