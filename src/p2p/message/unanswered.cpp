// Sends whose receivers have been asked to cancel them, and may leave MPI without an answer.
#include <algorithm>
#include <iterator>
#include <vector>

#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/arrivals.hpp"
#include "p2p/protocol/rendezvous.hpp"
#include "p2p/protocol/shared_copy.hpp"
#include "p2p/protocol/transport_data.hpp"

namespace hr::p2p {
namespace {

// More rounds than a ring has messages.
constexpr int kMostRounds = 1 << 16;

// A send that its receiver has been asked to drop. The send may have ended since, which waiting_send() detects.
struct Unanswered {
  int proc;
  std::uint64_t cookie;
};

struct State final : FileState {
  std::vector<Unanswered> sends;
};

bool has_left(const Unanswered& each) noexcept {
  const Peer& peer = peer_of(each.proc);
  return peer.connected && peer.transport->has_left(each.proc);
}

// Hook, which exists while a send is listed.
bool end_unanswered(void* /*argument*/) {
  State& state = own<State>();
  const auto ended = [](const Unanswered& each) { return waiting_send(each.proc, each.cookie) == nullptr; };
  std::erase_if(state.sends, ended);
  std::vector<Unanswered> left;
  std::ranges::copy_if(state.sends, std::back_inserter(left), has_left);
  // Everything that these processes have sent can be received now, because they sent it before they left.
  for (const Unanswered& each : left) {
    transport::Transport& transport = *peer_of(each.proc).transport;
    for (int rounds = 0; !ended(each) && rounds < kMostRounds && transport.progress(); ++rounds) {
    }
  }
  bool moved = false;
  for (const Unanswered& each : left) {
    Request* const send = waiting_send(each.proc, each.cookie);
    moved |= send != nullptr && end_unmatched(*send);
  }
  std::erase_if(state.sends, ended);
  if (state.sends.empty()) remove_hook(end_unanswered, nullptr);
  return moved;
}

}  // namespace

bool end_unmatched(Request& send) {
  if (shared_copy::holds(send)) return false;
  Completion completion;
  // The send was recalled (process_failure.hpp), or the program has cancelled it.
  completion.error = send.completion_.error;
  completion.cancelled = completion.error.ok();
  if (!completion.error.ok()) set_detail(send.detail_);
  transport_data::detach(send);
  finish_send(send, completion);
  return true;
}

void ask_to_cancel(Request& send) {
  const auto cookie = reinterpret_cast<std::uint64_t>(&send);
  send_control(send.proc_, wire::cancel(send.context_, cookie));
  // The paths between hosts stay open until all processes have called MPI_Finalize.
  if (const transport::Caps& caps = peer_of(send.proc_).caps; !caps.same_node || caps.same_address_space) return;
  own<State>().sends.push_back({send.proc_, cookie});
  add_hook(end_unanswered, nullptr);
}

}  // namespace hr::p2p
