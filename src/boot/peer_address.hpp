// PeerAddress: the data with which processes of another job reach this one.
//
// It is sent as a string of pairs (key_values.hpp): the job, the rank in it, the signature of the host, that of the
// job's settings for collective operations, and the transports' additions. Two processes with equal signatures can map
// the same file. A signature consists of the machine's boot id, the file system and inode of the shared-memory
// directory, and the host that mpiexec declares (--as-hosts). Threads: library lock.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hr::boot {

struct PeerAddress {
  std::string job;
  int rank = 0;
  std::string host;      // host signature; empty: the address only names a process that the receiver knows
  std::string network;   // address of the transport between hosts; empty: none
  std::string settings;  // jobs with equal ones choose equally in collective operations
};

// Returns this process's address, without the transports' additions.
[[nodiscard]] PeerAddress own_address();
// Returns the name of a process that this one knows.
[[nodiscard]] PeerAddress name_of(int proc);

[[nodiscard]] std::string format(const PeerAddress& address);
// Errors: MPI_ERR_OTHER for a string that format() did not write.
Status parse(std::string_view text, PeerAddress* address);

// Enters the process into boot::processes(), with its host and whether its job has this job's settings. Returns its
// index.
int add_peer(const PeerAddress& address);

}  // namespace hr::boot
