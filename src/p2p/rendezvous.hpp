// Rendezvous: how the data of an announced message gets into a receive's buffer.
//
// The receiver chooses. Every protocol is a file with a record {name, probe, begin} and a line in rendezvous.cpp's
// list. A probe is pure: the modelled seconds for this announcement and this receive, or kCannot; the least cost
// wins, ties by order in the list. begin() may refuse (MPI_ERR_UNSUPPORTED_OPERATION) without having moved anything;
// the next best is tried. Another error ends the message: begin() has told the sender nothing that makes it go on.
// Threads: library lock.
#pragma once

#include <limits>

#include "p2p/p2p.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// What a ready-to-send message says, and where it came from.
struct Announcement {
  Envelope envelope;
  int from_proc = -1;
  std::uint64_t sender_cookie = 0;
  std::uint64_t remote_address = 0;  // 0: not readable
  std::size_t bytes = 0;             // of the whole packed form
  std::uint64_t flags = 0;           // wire::RtsFlag
  std::uint64_t place = 0;           // of the device that the data is on (mem/cuda/context.hpp); 0: none
  bool in_turns = false;             // both ends are on one device, on which the two processes run in turns
  // What the flags say that follows; valid during begin().
  const std::byte* tail = nullptr;
  std::size_t tail_bytes = 0;
};

inline constexpr double kCannot = std::numeric_limits<double>::infinity();

// Of a message between two processes that run on one GPU in turns (docs/adr/0020-one-gpu-in-turns.md): until the GPU
// has switched to a process that has work for its multiprocessors; a copy within the GPU; two copies by copy engines.
inline constexpr double kSwitchSeconds = 150e-6;
inline constexpr double kDeviceBytesPerSecond = 1.4e12;
inline constexpr double kPinnedSeconds = 18e-6;
inline constexpr double kPinnedBytesPerSecond = 50e9;

// Up to here the two copies are quicker.
inline constexpr auto kStagedInTurns = static_cast<std::size_t>(
    (kSwitchSeconds - kPinnedSeconds) / (1 / kPinnedBytesPerSecond - 1 / kDeviceBytesPerSecond));

struct Rendezvous {
  const char* name;
  double (*probe)(const Announcement& announced, const Request& receive, const transport::Caps& caps);
  Status (*begin)(const Announcement& announced, Request& receive);
};

extern const Rendezvous kLocalCopy;   // sender is this process: one typed copy
extern const Rendezvous kDeviceGet;   // one copy or kernel from the sender's device memory
extern const Rendezvous kDevicePut;   // one copy from pinned memory into the receiver's device memory
extern const Rendezvous kStaged;      // pieces through pinned or device memory, pipelined
extern const Rendezvous kSingleCopy;  // read the sender's memory
extern const Rendezvous kStream;      // pieces through the transport

// Of a ready-to-send message; borrows the payload.
Announcement announcement_of(const Envelope& envelope, int from_proc, std::size_t bytes, const std::byte* payload,
                             std::size_t payload_bytes);
// A matched announcement meets its receive.
void begin_rendezvous(Request& receive, const Announcement& announced);
// A piece of a stream has arrived.
void arrive_data(Request& receive, std::size_t offset, const std::byte* payload, std::size_t bytes);
// So many bytes of an announced message are where they belong, or have failed with this status; the first failure is
// what the receive reports. It ends when all are accounted for.
void account(Request& receive, std::size_t bytes, Status status);
// Ends the receive of an announced message.
void finish_rendezvous(Request& receive, Status status);

}  // namespace hr::p2p
