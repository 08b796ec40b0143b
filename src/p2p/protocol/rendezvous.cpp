#include "p2p/protocol/rendezvous.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/events.hpp"
#include "base/log.hpp"
#include "layout/device/peer.hpp"
#include "mem/device/context.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/counting.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/choice.hpp"
#include "p2p/protocol/transport_data.hpp"

namespace hr::p2p {

extern const Rendezvous kLocalCopy;      // makes one typed copy, if the sender is this process itself
extern const Rendezvous kDeviceGet;      // uses one copy or kernel from the sender's device memory
extern const Rendezvous kDevicePut;      // makes one copy from pinned memory into the receiver's device memory
extern const Rendezvous kStaged;         // pieces through pinned or device memory, pipelined
extern const Rendezvous kSingleCopy;     // reads the sender's memory
extern const Rendezvous kStream;         // pieces through the transport
extern const Rendezvous kNetworkStaged;  // pieces through pinned memory and the network, pipelined
extern const Rendezvous kNetworkDirect;  // the network itself reads and writes device memory
extern const Rendezvous kTransportData;  // the transport moves the data from memory to memory

namespace {

// Listed in order of preference among protocols of equal cost. kStream always applies and stays last, because
// begin_fallback() takes the last one.
constexpr std::array kProtocols = {&kTransportData, &kLocalCopy,     &kDeviceGet,  &kDevicePut, &kStaged,
                                   &kNetworkStaged, &kNetworkDirect, &kSingleCopy, &kStream};
static_assert(kProtocols.back() == &kStream);
static_assert(kProtocols.size() <= Choice::kMost);
static_assert(kProtocols.size() < counters::kProtocols, "element 0 of the counters is for eager messages");

// Times the message for autotuning, if a measurement is in progress, from here to finish_rendezvous().
void time(Request& receive, Autotune* autotune) {
  if (autotune != nullptr && autotune->begin(ticks())) receive.autotune_ = autotune;
}

void end_timing(Request& receive) {
  Autotune* const autotune = std::exchange(receive.autotune_, nullptr);
  if (autotune == nullptr || !autotune->end(receive.total_, ticks())) return;
  log::write(log::Level::kDecision, "messages of %zu bytes from rank %d: %s (the second way saves %.0f %%)",
             receive.total_, receive.proc_, autotune->name(), 100 * autotune->saved());
}

}  // namespace

std::span<const Rendezvous* const> protocols() noexcept { return kProtocols; }

bool is_rts(int from, const std::byte* payload, std::size_t bytes) noexcept {
  wire::Rts rts;
  if (bytes < sizeof rts) return false;
  std::memcpy(&rts, payload, sizeof rts);
  const std::byte* const tail = payload + sizeof rts;
  const std::size_t tail_bytes = bytes - sizeof rts;
  if ((rts.flags & wire::kKept) != 0) {
    transport::RendezvousData data;
    if ((rts.flags & (wire::kView | wire::kChunks)) != 0 || tail_bytes != sizeof data) return false;
    std::memcpy(&data, tail, sizeof data);
    return has_rendezvous(from, data);
  }
  if ((rts.flags & wire::kView) != 0) {
    using layout::device::PeerView;
    if (tail_bytes < PeerView::kContiguousBytes || tail_bytes > sizeof(PeerView)) return false;
    if (tail_bytes < sizeof(PeerView) && !layout::device::is_contiguous(tail)) return false;
  }
  return (rts.flags & wire::kChunks) == 0 || tail_bytes >= sizeof(mem::device::Export);
}

ReadyToSend read_rts(const Envelope& envelope, int from_proc, std::size_t bytes, const std::byte* payload,
                     std::size_t payload_bytes) {
  wire::Rts rts;
  std::memcpy(&rts, payload, sizeof rts);
  ReadyToSend read{envelope, from_proc, rts.sender_cookie, rts.address, bytes, rts.flags, rts.locality};
  read.tail = payload + sizeof rts;
  read.tail_bytes = payload_bytes - sizeof rts;
  return read;
}

void begin_rendezvous(Request& receive, const ReadyToSend& matched) {
  ReadyToSend rts = matched;
  rts.time_sliced = mem::device::Context::note_peer_device(receive.view_.where, rts.locality);
  receive.recyclable_ = false;
  if (any_failures()) [[unlikely]]
    receive.begin();  // the receive may have been interrupted (process_failure.hpp)
  receive.phase_ = Request::Phase::kMoving;
  receive.proc_ = rts.from_proc;
  receive.offset_ = 0;
  receive.total_ = rts.bytes < receive.view_.packed ? rts.bytes : receive.view_.packed;
  // Sets the completion to report later; the error text of a truncation is kept with the request until then.
  receive.completion_ = received(rts.envelope, rts.bytes, receive.view_.packed);
  if (!receive.completion_.error.ok()) receive.detail_ = take_detail();

  events::emit(events::Event::rendezvous_begun,
               {rts.from_proc, rts.envelope.tag, static_cast<std::int64_t>(rts.bytes)});
  Peer* peer = nullptr;
  if (const Status status = connected_peer(rts.from_proc, &peer); !status.ok()) {
    return finish_rendezvous(receive, status);
  }
  Choice& choice = choice_of(peer->proc, message_class(rts, receive), peer->caps);
  time(receive, choice.autotune());
  for (std::size_t index = 0;; ++index) {
    const Rendezvous& protocol = choice.at(index);
    if (log::enabled(log::Level::kTrace)) {
      log::write(log::Level::kTrace, "%zu of %zu bytes from rank %d: %s", receive.total_, rts.bytes, rts.from_proc,
                 protocol.name);
    }
    const mem::Location to = receive.view_.where;  // the request may have been destroyed afterwards
    const Status status = protocol.begin(rts, receive);
    if (status.ok()) return count_rendezvous(protocol, to, rts.bytes);
    if (status.errc() != Errc::kUnsupportedOperation || index + 1 == choice.count()) {
      // The sender need not wait for a receiver that cannot receive its data.
      send_control(rts.from_proc, wire::answer(wire::Kind::kDone, rts.sender_cookie));
      return finish_rendezvous(receive, status);
    }
    receive.transfer_.reset();
    // The protocol that is tried next is not the one being timed, so the measurement is dropped.
    if (Autotune* const autotune = std::exchange(receive.autotune_, nullptr)) autotune->drop();
  }
}

bool clear_to_send(int from, Request& send, const std::byte* payload, std::size_t bytes) {
  wire::Cts cts;
  std::memcpy(&cts, payload, sizeof cts);
  const bool has_view = bytes >= sizeof cts + layout::device::PeerView::kContiguousBytes;
  if (cts.bytes == 0 || cts.bytes > send.view_.packed || ((cts.way & wire::kPut) != 0 && !has_view)) return false;
  if (is_held(send)) return false;  // another protocol is moving the data
  send.transfer_.reset();           // the protocol that would have moved the data no longer does
  static_cast<void>(mem::device::Context::note_peer_device(send.view_.where, cts.locality));
  peer_of(from).locality = cts.locality;
  send.peer_cookie_ = cts.receiver_cookie;
  send.total_ = cts.bytes;
  send.offset_ = 0;
  send.phase_ = Request::Phase::kMoving;
  for (const Rendezvous* each : kProtocols) {
    if (each->cleared != nullptr && each->cleared(from, send, cts, payload + sizeof cts)) break;
  }
  return true;
}

void release_send(Request& send) {
  for (const Rendezvous* each : kProtocols) {
    if (each->released != nullptr && each->released(send)) return;
  }
  finish_send(send, Completion{});
}

Status begin_fallback(const ReadyToSend& rts, Request& receive) { return kProtocols.back()->begin(rts, receive); }

void account(Request& receive, std::size_t bytes, Status status) {
  if (!status.ok()) {
    // The rest still arrives; the first error is reported.
    std::string why = take_detail();
    if (receive.completion_.error.ok()) {
      receive.detail_ = std::move(why);
      receive.completion_.error = status;
    }
  }
  receive.offset_ += bytes;
  // A sender that reports too many bytes does not end the receive while data is being copied: the last copy does.
  if (receive.offset_ < receive.total_ || is_held(receive)) return;
  finish_rendezvous(receive, kOk);
}

void finish_rendezvous(Request& receive, Status status) {
  end_timing(receive);
  receive.transfer_.reset();
  events::emit(events::Event::rendezvous_ended,
               {receive.proc_, receive.completion_.tag, static_cast<std::int64_t>(receive.total_), status.code()});
  Completion completion = receive.completion_;
  if (!status.ok()) {
    completion.error = status;
  } else if (!completion.error.ok()) {
    set_detail(std::move(receive.detail_));
  }
  complete(receive, completion);
}

void finish_send(Request& send, const Completion& completion) {
  send.transfer_.reset();
  complete(send, completion);
}

void count_rendezvous(const Rendezvous& protocol, const mem::Location& to, std::size_t bytes) noexcept {
  const auto all = protocols();
  const auto* const found = std::find(all.data(), all.data() + all.size(), &protocol);
  counters::page.received[static_cast<std::size_t>(found - all.data()) + 1].add(bytes);
  count_to(to, bytes);
}

std::vector<std::string_view> names_of_protocols() {
  std::vector<std::string_view> names{"eager"};
  for (const Rendezvous* each : protocols()) names.emplace_back(each->name);
  return names;
}

}  // namespace hr::p2p
