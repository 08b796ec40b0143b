// Addresses of processes in the launcher's key-value space, as strings of characters that every launcher accepts, under
// as many keys as their length requires. Each string begins with the name of its network transport.
//
// Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hr::transport::network {

// Publishes this process's address, before the exchange. `network`: name of the transport. `host`: name of this host;
// truncated if longer than 255 bytes.
Status publish_address(std::string_view network, int rank, std::span<const std::byte> address, const std::string& host);
// Publishes, in place of an address, the reason why this process has no network transport, truncated if long.
Status publish_absence(int rank, const std::string& host, std::string_view why);

// Addresses of the processes of this job. Our launcher returns the addresses of many processes at once, so that a
// process makes few requests, however many others it sends to. Owner: the transport.
class Addresses {
 public:
  // `network`: name of the transport. `ranks`: number of ranks in the job.
  Addresses(std::string_view network, int ranks) : network_(network), ranks_(ranks) {}

  // Requests the addresses of all processes, if they are few; called after the exchange, when no process is waiting for
  // messages yet.
  Status prefetch();
  // Fetches the address of another process, after the exchange. Errors: the launcher's; MPI_ERR_OTHER for a string that
  // publish_address() did not write, or if process `rank` uses another network transport or has none.
  Status fetch(int rank, std::vector<std::byte>* address, std::string* host);

 private:
  // Finds the strings of the block of ranks that begins with `first`.
  Status block_at(int first, std::vector<std::string>** block);
  // Gets the first part of an address string.
  Status first_part(int rank, std::string* text);

  std::string_view network_;
  int ranks_;
  std::map<int, std::vector<std::string>> blocks_;  // strings that were received and not used yet
};

// Appends the secret to the address (names.hpp).
void append_secret(std::uint64_t secret, std::vector<std::byte>* address);
// Removes the secret from the end. False if there is none, or nothing before it.
[[nodiscard]] bool split_secret(std::vector<std::byte>* address, std::uint64_t* secret);
// The same for a port in network byte order (probe.hpp).
void append_port(std::uint16_t port, std::vector<std::byte>* address);
[[nodiscard]] bool split_port(std::vector<std::byte>* address, std::uint16_t* port);

// Encodes every three bytes as four characters: letters, digits, '-' and '_'.
[[nodiscard]] std::string encode(std::span<const std::byte> bytes);
// False for a string that encode() did not write.
[[nodiscard]] bool decode(std::string_view text, std::vector<std::byte>* bytes);

}  // namespace hr::transport::network
