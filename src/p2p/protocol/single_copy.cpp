// Single copy: the receiver reads the sender's memory, usually with the sender's help (shared_copy.hpp).
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "p2p/core/engine.hpp"
#include "p2p/protocol/choice.hpp"
#include "p2p/protocol/shared_copy.hpp"

namespace hr::p2p {

extern const Rendezvous kSingleCopy;

namespace single_copy {
namespace {

struct State final : FileState {
  bool refusal_noted = false;
};

// The cost of reading another process's memory differs widely between machines, so the estimate is uncertain. The
// knob's "on" selects this protocol wherever it is possible.
Estimate probe(const MessageClass& message, const transport::Caps& caps) {
  if (!caps.remote_read || caps.same_address_space || !message.readable) return kNotApplicable;
  if (!message.to_host() || !message.to_contiguous) return kNotApplicable;
  if (message.bytes == 0 || message.bytes < knobs().single_copy_bytes) return kNotApplicable;
  if (knobs().shm_single_copy == ShmSingleCopyChoice::kOn) return {0};
  return {caps.memory().seconds(message.bytes), true};
}

Status begin(const ReadyToSend& rts, Request& receive) {
  const Status status = shared_copy::begin(rts, receive);
  if (status.ok()) {
    add(Statistic::single_copies);
  } else {
    disable(kSingleCopy, rts.from_proc);
    log::note_once(own<State>().refusal_noted, "large messages need two copies instead of one: %s",
                   take_detail().c_str());
  }
  return status;
}

bool deliver_share(int from, Request& send, const transport::Header&, const std::byte* payload, std::size_t) {
  return shared_copy::help(from, send, payload);
}
bool deliver_shared(int from, Request& receive, const transport::Header& header, const std::byte*, std::size_t) {
  return shared_copy::helped(from, receive, header.words[1], wire::way(header) != 0);
}
constexpr Arrival kArrivals[] = {arrival_at_send<deliver_share, sizeof(wire::Share)>(wire::Kind::kShare),
                                 arrival_at_receive<deliver_shared, 0, 2>(wire::Kind::kShared)};

}  // namespace
}  // namespace single_copy

const Rendezvous kSingleCopy{.name = "single_copy",
                             .probe = single_copy::probe,
                             .begin = single_copy::begin,
                             .arrivals = single_copy::kArrivals,
                             .released = shared_copy::released,
                             .holds = shared_copy::holds,
                             .finalize = shared_copy::finalize};

}  // namespace hr::p2p
