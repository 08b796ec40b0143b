// Addresses of processes in the launcher's key-value space, as text of characters that every launcher accepts, under as
// many keys as their length needs. The text begins with the name of the network transport that it belongs to.
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

// Publishes this process's address, before the exchange. `network`: name of the transport. `host`: name of its host;
// cut if longer than 255 bytes.
Status publish_address(std::string_view network, int rank, std::span<const std::byte> address, const std::string& host);

// Addresses of the processes of this job. Our launcher hands out those of many processes at once, so that a process
// makes few requests, however many others it sends to. Owner: the transport.
class Addresses {
 public:
  // `network`: name of the transport. `ranks`: those of the job.
  Addresses(std::string_view network, int ranks) : network_(network), ranks_(ranks) {}

  // Requests the addresses of all processes, if they are few; called after the exchange, when no process has messages
  // to wait for yet.
  Status prefetch();
  // Fetches the address of another process, after the exchange. Errors: the launcher's; MPI_ERR_OTHER for text that
  // publish_address() did not write, and if that process uses another network transport.
  Status fetch(int rank, std::vector<std::byte>* address, std::string* host);

 private:
  // Finds the texts of the ranks from `first` on.
  Status block_at(int first, std::vector<std::string>** block);
  // Gets the first part of the text of an address.
  Status first_part(int rank, std::string* text);

  std::string_view network_;
  int ranks_;
  std::map<int, std::vector<std::string>> blocks_;  // texts that were handed out and not used yet
};

// Appends the secret to the address (names.hpp).
void append_secret(std::uint64_t secret, std::vector<std::byte>* address);
// Removes the secret from the end. False: there is none, or nothing before it.
[[nodiscard]] bool split_secret(std::vector<std::byte>* address, std::uint64_t* secret);

// Writes three bytes as four letters, digits, '-' or '_'.
[[nodiscard]] std::string encode(std::span<const std::byte> bytes);
// Returns false for text that encode() did not write.
[[nodiscard]] bool decode(std::string_view text, std::vector<std::byte>* bytes);

}  // namespace hr::transport::network
