// Rendezvous: moves the data of a message whose sender has sent a ready-to-send message (RTS) into a receive's buffer.
//
// The receiver chooses. Protocols are siblings: each is a file with one record, and a line in rendezvous.cpp's list,
// and knows no other. It hands down the handlers of its own kinds of messages, says what it holds, lets go of a failed
// process and ends with the engine; callers of these go through the list. Its state for a message hangs on the request
// (Request::transfer_).
//
// A probe is pure: the modelled seconds for messages of this class, or kNotApplicable; the least cost wins, ties by
// order in the list. The choice is kept (choice.hpp). begin() may decline (MPI_ERR_UNSUPPORTED_OPERATION) without
// having moved anything; the next best is tried. Another error ends the message: begin() has told the sender nothing
// that makes it go on. If the receiver has the sender send (wire::Cts), the sender asks each protocol in the order of
// the list to take the clear-to-send. Threads: library lock.
#pragma once

#include <limits>
#include <span>

#include "p2p/arrivals.hpp"
#include "p2p/p2p.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/wire.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// Contents of a ready-to-send message, and where it came from.
struct ReadyToSend {
  Envelope envelope;
  int from_proc = -1;
  std::uint64_t sender_cookie = 0;
  std::uint64_t remote_address = 0;  // 0: not readable
  std::size_t bytes = 0;             // of the whole packed form
  std::uint64_t flags = 0;           // wire::RtsFlag
  std::uint64_t locality = 0;        // of the device that the data is on (mem/cuda/context.hpp); 0: none
  bool time_sliced = false;          // both ends are on one device, which the two processes share by time slices
  // Additions that the flags tell of; valid during begin().
  const std::byte* tail = nullptr;
  std::size_t tail_bytes = 0;
};

// Everything that the choice of a protocol depends on, beside the peer and the knobs: messages of one class go one way.
struct MessageClass {
  std::size_t bytes = 0;        // to be moved: the least of the size class; 0: none
  std::uint64_t flags = 0;      // wire::RtsFlag, but kPending
  bool readable = false;        // the data is contiguous host memory, and the sender has said where
  bool from_contiguous = true;  // as far as the sender has said
  bool time_sliced = false;     // ReadyToSend::time_sliced
  mem::Kind to = mem::Kind::kHost;
  bool to_contiguous = true;
  bool to_pinned = false;      // host memory that the receiver's device may write
  bool to_exportable = false;  // the sender can map the memory; looked at where it says kPinned

  [[nodiscard]] bool from_device() const noexcept { return (flags & wire::kDevice) != 0; }
  [[nodiscard]] bool to_host() const noexcept { return to == mem::Kind::kHost; }
  [[nodiscard]] bool to_device() const noexcept { return to == mem::Kind::kDevice; }
  // Differs from those of other classes.
  [[nodiscard]] std::uint64_t key() const noexcept;
};
MessageClass message_class(const ReadyToSend& rts, const Request& receive);

// Answer of a probe. `uncertain`: the model may well be wrong, so that measuring in the program is worth it
// (autotune.hpp).
struct Estimate {
  double seconds;
  bool uncertain = false;
};
inline constexpr double kNever = std::numeric_limits<double>::infinity();
inline constexpr Estimate kNotApplicable{kNever};

// Costs of devices, whatever transport the messages go by: one copy or kernel by a device, until it is seen to be done;
// copies between device memory and pinned host memory, and two of them that overlap in pieces; copies between the
// memory of two devices; copies within a device.
inline constexpr double kDeviceCopySeconds = 10e-6;
inline constexpr double kPinnedBytesPerSecond = 50e9;
inline constexpr double kPinnedSeconds = 18e-6;
inline constexpr double kPeerBytesPerSecond = 150e9;
inline constexpr double kDeviceBytesPerSecond = 1.4e12;
// Time that a GPU which the two processes share by time slices (docs/adr/0020-time-sliced-gpu.md) takes to switch to a
// process that has work for its multiprocessors.
inline constexpr double kSwitchSeconds = 150e-6;

// Up to this length two copies through pinned memory are quicker than one switch.
inline constexpr auto kStagedTimeSlicedBytes = static_cast<std::size_t>(
    (kSwitchSeconds - kPinnedSeconds) / (1 / kPinnedBytesPerSecond - 1 / kDeviceBytesPerSecond));

// A null function: this protocol has nothing to do there.
struct Rendezvous {
  const char* name;
  Estimate (*probe)(const MessageClass& message, const transport::Caps& caps);
  Status (*begin)(const ReadyToSend& rts, Request& receive);
  std::span<const Arrival> arrivals = {};
  // Sender: the receiver has cleared this message; Request::peer_cookie_ and total_ are set, and `tail` follows the
  // wire::Cts. False: not this protocol's way, or it cannot.
  bool (*cleared)(int from, Request& send, const wire::Cts& cts, const std::byte* tail) = nullptr;
  // Sender: the receiver no longer needs the data, whether this protocol moved it or not. True: this process still
  // does.
  bool (*released)(Request& send) = nullptr;
  // Forgets this memory, which that process had exported and has given up.
  void (*forget)(int proc, std::uint64_t memory) = nullptr;
  // Ends waits for a failed process (process_failure.hpp). Copies by this process go on to their end.
  void (*fail_pending)(int proc) = nullptr;
  // True if this process is copying the data of this request: only the protocol may end it.
  bool (*holds)(const Request& request) = nullptr;
  // True if nothing is pending that finalize() would have to wait for.
  bool (*idle)() = nullptr;
  // Gives everything up; the engine ends.
  void (*finalize)() = nullptr;
};

// In order of preference.
std::span<const Rendezvous* const> protocols() noexcept;

// True if the payload of a ready-to-send message has all that its flags say.
[[nodiscard]] bool is_rts(int from, const std::byte* payload, std::size_t bytes) noexcept;
// Reads such a payload, which the result borrows.
ReadyToSend read_rts(const Envelope& envelope, int from_proc, std::size_t bytes, const std::byte* payload,
                     std::size_t payload_bytes);
// Moves the data of a matched ready-to-send message into its receive.
void begin_rendezvous(Request& receive, const ReadyToSend& matched);
// Sender: the receiver says how the message is to go on. False: that does not fit the message.
[[nodiscard]] bool clear_to_send(int from, Request& send, const std::byte* payload, std::size_t bytes);
// Sender: the receiver has fetched the data itself, or does not want it.
void release_send(Request& send);
// Begins the last protocol of the list, which always can: for one whose own way has failed.
Status begin_fallback(const ReadyToSend& rts, Request& receive);
// Accounts for `bytes` bytes of a rendezvous: they have arrived, or have failed with this status. The receive reports
// the first failure, and ends when all bytes are accounted for; the caller must not use it afterwards.
void account(Request& receive, std::size_t bytes, Status status);
// Ends the receive of a rendezvous.
void finish_rendezvous(Request& receive, Status status);
// Ends the send of a rendezvous.
void finish_send(Request& send, const Completion& completion);

}  // namespace hr::p2p
