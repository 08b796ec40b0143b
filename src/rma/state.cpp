#include "rma/state.hpp"

#include <algorithm>

#include "p2p/layer_message.hpp"
#include "p2p/loss.hpp"
#include "rma/rma.hpp"
#include "rma/wire.hpp"

namespace hr::rma {

LayerState<State> state;

namespace {

void take_signal(const transport::Header& header) {
  Window* const window = state->find(wire::context_of(header));
  if (window == nullptr) return;
  Member& member = window->member(wire::rank_of(header));
  switch (wire::action_of(header)) {
    case wire::Action::kLock:
      return take_lock(*window, header);
    case wire::Action::kLocked:
      member.lock_granted = true;
      return;
    case wire::Action::kUnlock:
      window->own().control->lock.release(wire::detail_of(header) != 0);
      grant_locks();
      return;
    case wire::Action::kPost:
      ++member.posts;
      return;
    case wire::Action::kComplete:
      ++member.completes;
      return;
    default:
      return;
  }
}

void take_message(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  if (state == nullptr || p2p::is_lost(from)) return;
  switch (wire::action_of(header)) {
    case wire::Action::kOperate:
      return take_operation(header, payload, bytes);
    case wire::Action::kAnswer:
      return take_answer(from, header, payload, bytes);
    default:
      return take_signal(header);
  }
}

bool advance(void*) {
  const bool served = advance_services();
  const bool moved = advance_started() || served;
  state->polled.hold(std::ranges::any_of(state->lock_waiters,
                                         [](const LockWaiter& each) { return each.window->is_unlocked_silently(); }));
  if (state->started.empty() && state->asked.empty() && state->services.empty() && state->lock_waiters.empty()) {
    p2p::remove_hook(advance, nullptr);
  }
  return moved;
}

}  // namespace

void watch() { p2p::add_hook(advance, nullptr); }

void init() {
  state = std::make_unique<State>();
  p2p::set_handler(p2p::wire::Kind::kWindow, take_message);
}

void finalize() {
  if (state == nullptr) return;
  state->polled.hold(false);
  p2p::remove_hook(advance, nullptr);
  state.reset();
}

}  // namespace hr::rma
