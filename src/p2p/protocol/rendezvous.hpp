// Rendezvous: moves the data of a message announced by a ready-to-send message (RTS) into the buffer of its receive.
//
// The receiver chooses the protocol. Each protocol is a file with one record, which is listed in rendezvous.cpp, and is
// independent of the others. The record has the handlers of the protocol's messages, and functions that tell which
// requests it holds, end its waits for a failed process, and free its state when the engine ends. All of these are
// called through the list. The protocol's state for a message belongs to the request (Request::transfer_).
//
// A probe is a pure function that returns the modelled seconds for messages of a class, or kNotApplicable; the lowest
// cost wins or, of equal costs, the first in the list. The choice is cached (choice.hpp). begin() may decline
// (MPI_ERR_UNSUPPORTED_OPERATION) without having moved anything; then the next best protocol is tried. Any other error
// ends the message; begin() has then sent the sender no message that makes it continue. If the receiver lets the sender
// send (wire::Cts), the sender offers the clear-to-send to each protocol in the order of the list. Threads: library
// lock.
#pragma once

#include <limits>
#include <span>

#include "mem/device/costs.hpp"
#include "p2p/core/wire.hpp"
#include "p2p/p2p.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/protocol/arrivals.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

// Contents and sender of a ready-to-send message.
struct ReadyToSend {
  Envelope envelope;
  int from_proc = -1;
  std::uint64_t sender_cookie = 0;
  std::uint64_t remote_address = 0;  // 0: not readable
  std::size_t bytes = 0;             // length of the whole packed form
  std::uint64_t flags = 0;           // wire::RtsFlag
  std::uint64_t locality = 0;        // locality of the device that holds the data (mem/device/context.hpp); 0: none
  bool time_sliced = false;  // true if both ends are on one device, which the two processes share by time slicing
  // Additional data described by the flags; valid during begin().
  const std::byte* tail = nullptr;
  std::size_t tail_bytes = 0;
};

// Everything on which the choice of a protocol depends, besides the peer and the knobs: messages of one class use the
// same protocol.
struct MessageClass {
  std::size_t bytes = 0;        // bytes to move, rounded down to the minimum of the size class; 0: none
  std::uint64_t flags = 0;      // wire::RtsFlag, except kPending
  bool readable = false;        // the data is contiguous host memory, and its address was sent
  bool from_contiguous = true;  // the sender's data is contiguous, as far as the receiver knows
  bool time_sliced = false;     // ReadyToSend::time_sliced
  mem::Kind to = mem::Kind::kHost;
  bool to_contiguous = true;
  bool to_pinned = false;      // host memory that the receiver's device may write
  bool to_exportable = false;  // the sender can map the memory; checked only with kPinned

  [[nodiscard]] bool from_device() const noexcept { return (flags & wire::kDevice) != 0; }
  [[nodiscard]] bool to_host() const noexcept { return to == mem::Kind::kHost; }
  [[nodiscard]] bool to_device() const noexcept { return to == mem::Kind::kDevice; }
  // Returns a key that no other class has.
  [[nodiscard]] std::uint64_t key() const noexcept;
};
MessageClass message_class(const ReadyToSend& rts, const Request& receive);

// Answer of a probe. `uncertain`: the model may well be wrong, so that measuring at run time is worth it
// (autotune.hpp).
struct Estimate {
  double seconds;
  bool uncertain = false;
};
inline constexpr double kNever = std::numeric_limits<double>::infinity();
inline constexpr Estimate kNotApplicable{kNever};

// Up to this length, two copies through pinned memory are faster than one switch of a time-sliced device.
[[nodiscard]] inline std::size_t staged_time_sliced_bytes() noexcept {
  const mem::device::Costs& of = mem::device::costs();
  return static_cast<std::size_t>((of.switch_seconds - of.pinned_seconds) /
                                  (1 / of.pinned_bytes_per_second - 1 / of.device_bytes_per_second));
}

// A protocol. A function may be null if the protocol needs none.
struct Rendezvous {
  const char* name;
  Estimate (*probe)(const MessageClass& message, const transport::Caps& caps);
  Status (*begin)(const ReadyToSend& rts, Request& receive);
  std::span<const Arrival> arrivals = {};
  // Sender: handles the clear-to-send of this message; Request::peer_cookie_ and total_ are set, and `tail` follows the
  // wire::Cts. False if the clear-to-send is meant for another protocol, or if this one cannot send the data.
  bool (*cleared)(int from, Request& send, const wire::Cts& cts, const std::byte* tail) = nullptr;
  // Sender: called when the receiver no longer needs the data, whether this protocol moved it or not. True if this
  // process still needs the data.
  bool (*released)(Request& send) = nullptr;
  // Forgets this memory, which process `proc` had exported and has freed.
  void (*forget)(int proc, std::uint64_t memory) = nullptr;
  // Ends waits for a failed process (process_failure.hpp). Copies by this process continue to their end.
  void (*fail_pending)(int proc) = nullptr;
  // Called before the path to process `proc` is removed; nothing is pending there.
  void (*disconnect)(int proc) = nullptr;
  // True if this process is copying the data of this request, so that only the protocol may end the request.
  bool (*holds)(const Request& request) = nullptr;
  // True if nothing is pending that finalize() would have to wait for.
  bool (*idle)() = nullptr;
  // Frees everything when the engine ends.
  void (*finalize)() = nullptr;
};

// Returns the protocols in order of preference.
std::span<const Rendezvous* const> protocols() noexcept;

// True if the payload of a ready-to-send message contains everything that its flags announce.
[[nodiscard]] bool is_rts(int from, const std::byte* payload, std::size_t bytes) noexcept;
// Reads the payload of a ready-to-send message. The result points into the payload.
ReadyToSend read_rts(const Envelope& envelope, int from_proc, std::size_t bytes, const std::byte* payload,
                     std::size_t payload_bytes);
// Moves the data of a matched ready-to-send message into its receive.
void begin_rendezvous(Request& receive, const ReadyToSend& matched);
// Sender: handles a clear-to-send, with which the receiver chooses how the data is sent. False if the clear-to-send
// does not fit the message.
[[nodiscard]] bool clear_to_send(int from, Request& send, const std::byte* payload, std::size_t bytes);
// Sender: called when the receiver has fetched the data itself, or does not need it. Ends the send unless a protocol
// still needs the data (Rendezvous::released).
void release_send(Request& send);
// Starts the last protocol in the list, which always applies. Called by a protocol that has started and failed.
Status begin_fallback(const ReadyToSend& rts, Request& receive);
// Accounts for `bytes` bytes of a rendezvous that have arrived, or have failed with this status. The receive reports
// the first failure, and ends when all bytes are accounted for; the caller must not use it afterwards.
void account(Request& receive, std::size_t bytes, Status status);
// Ends the receive of a rendezvous.
void finish_rendezvous(Request& receive, Status status);
// Ends the send of a rendezvous.
void finish_send(Request& send, const Completion& completion);

}  // namespace hr::p2p
