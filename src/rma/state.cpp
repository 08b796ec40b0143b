#include "rma/state.hpp"

#include <algorithm>

#include "base/dropped.hpp"
#include "p2p/active_message.hpp"
#include "p2p/process_failure.hpp"
#include "rma/rma.hpp"
#include "rma/wire.hpp"

namespace hr::rma {

LayerState<State> state;

namespace {

void take_signal(int from, const transport::Header& header) {
  Window* const window = window_of(from, header);
  if (window == nullptr) return;
  Member& member = window->member(wire::rank_of(header));
  switch (wire::action_of(header)) {
    case wire::Action::kLock:
      return take_lock(*window, header);
    case wire::Action::kLocked:
      member.lock_granted = true;
      return;
    case wire::Action::kUnlock:
      return take_unlock(*window, header);
    case wire::Action::kPost:
      ++member.posts;
      return;
    case wire::Action::kComplete:
      ++member.completes;
      return;
    default:
      return drop_message(from, "there is no such message of windows");
  }
}

void take_message(int from, const transport::Header& header, const std::byte* payload, std::size_t bytes) {
  if (state == nullptr || p2p::has_failed(from)) return;
  switch (wire::action_of(header)) {
    case wire::Action::kOperate:
      return take_operation(from, header, payload, bytes);
    case wire::Action::kAnswer:
      return take_answer(from, header, payload, bytes);
    default:
      return take_signal(from, header);
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

Window* window_of(int from, const transport::Header& header) noexcept {
  Window* const window = state == nullptr ? nullptr : state->find(wire::context_of(header));
  if (window == nullptr) return nullptr;
  const int rank = wire::rank_of(header);
  if (rank >= 0 && rank < window->size() && window->proc(rank) == from) return window;
  drop_message(from, "it names another member of a window as its sender");
  return nullptr;
}

std::uint64_t Cookies::give(OriginOperation& operation) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(slots_.size()));
    slots_.emplace_back();
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  Slot& slot = slots_[index];
  slot.operation = &operation;
  return std::uint64_t{++slot.generation} << 32 | (index + 1);
}

OriginOperation* Cookies::find(std::uint64_t cookie) const noexcept {
  const std::uint64_t index = (cookie & 0xffffffffU) - 1;
  if (index >= slots_.size() || slots_[index].generation != cookie >> 32) return nullptr;
  return slots_[index].operation;
}

void Cookies::take_back(std::uint64_t cookie) {
  if (find(cookie) == nullptr) return;
  const auto index = static_cast<std::uint32_t>(cookie) - 1;
  slots_[index].operation = nullptr;
  free_.push_back(index);
}

void watch() { p2p::add_hook(advance, nullptr); }

void init() {
  state = std::make_unique<State>();
  p2p::set_active_message_handler(p2p::wire::Kind::kWindow, take_message);
}

void finalize() {
  if (state == nullptr) return;
  state->polled.hold(false);
  p2p::remove_hook(advance, nullptr);
  leave_operations();
  state.reset();
}

}  // namespace hr::rma
