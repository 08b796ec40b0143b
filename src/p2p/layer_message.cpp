#include "p2p/layer_message.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "p2p/engine.hpp"
#include "p2p/loss.hpp"

namespace hr::p2p {
namespace {

struct Waiting {
  transport::Header header;
  std::vector<std::byte> payload;
};

// What the transports had no room for, by process.
struct State final : FileState {
  std::map<int, std::deque<Waiting>> waiting;
  PolledWait polled;
};

// True when something moved.
bool offer_waiting(void*) {
  auto& state = own<State>();
  bool moved = false;
  for (auto each = state.waiting.begin(); each != state.waiting.end();) {
    auto& [proc, messages] = *each;
    Peer& peer = peer_of(proc);
    while (!peer.lost && !messages.empty()) {
      const Waiting& next = messages.front();
      const Status status = peer.transport->send(proc, next.header, next.payload.data(), next.payload.size());
      if (status.is_again()) break;
      moved = true;
      if (!status.ok()) lose(proc, status);
      messages.pop_front();
    }
    each = peer.lost || messages.empty() ? state.waiting.erase(each) : std::next(each);
  }
  if (state.waiting.empty()) {
    state.polled.hold(false);
    remove_hook(offer_waiting, nullptr);
  }
  return moved;
}

}  // namespace

void set_handler(wire::Kind kind, transport::Handler handler) noexcept {
  engine()->upcalls.handlers[static_cast<std::size_t>(kind)] = handler;
}

Status longest_message(int proc, std::size_t* bytes) {
  Peer* peer = nullptr;
  HR_TRY(connected_peer(proc, &peer));
  *bytes = peer->caps.max_payload;
  return kOk;
}

Status send_message(int proc, const transport::Header& header, const void* payload, std::size_t bytes) {
  Peer* peer = nullptr;
  HR_TRY(connected_peer(proc, &peer));
  auto& state = own<State>();
  if (state.waiting.empty() || !state.waiting.contains(proc)) [[likely]] {
    const Status status = peer->transport->send(proc, header, payload, bytes);
    if (!status.is_again()) {
      if (!status.ok()) lose(proc, status);
      return peer->lost ? lost_error(proc) : status;
    }
  }
  Waiting& kept = state.waiting[proc].emplace_back(Waiting{header, {}});
  kept.payload.resize(bytes);
  if (bytes != 0) std::memcpy(kept.payload.data(), payload, bytes);
  state.polled.hold(true);
  add_hook(offer_waiting, nullptr);
  return kOk;
}

}  // namespace hr::p2p
