#include "mem/device/fence.hpp"

#include "base/clock.hpp"
#include "base/knobs.hpp"

namespace hr::mem::device {
namespace {

constexpr double kAskingSeconds = 20e-6;

}  // namespace

Fence::State Fence::look(Context& context) {
  if (state_ == State::kWritten) return context.fence_passed(number_) ? State::kPassed : State::kWritten;
  if (context.idle()) return State::kPassed;
  const Current current(context);
  if (!current.status().ok()) return State::kPassed;
  if (context.query_default_stream() != kNotReady) return State::kPassed;
  if (now_seconds() < asking_until_) return State::kAsking;
  bool written = false;
  if (!context.set_fence(&written, &number_).ok() || !written) return State::kPassed;
  return State::kWritten;
}

bool Fence::needless(const Location& where) {
  if (knobs().default_stream == DefaultStreamChoice::kIgnore) return true;
  Context* context = nullptr;
  return Context::of(where, &context).ok() && context->idle();
}

Status Fence::set(const Location& where) {
  state_ = State::kPassed;
  if (knobs().default_stream == DefaultStreamChoice::kIgnore) return kOk;
  Context* context = nullptr;
  HR_TRY(Context::of(where, &context));
  context_ = context->handle();
  id_ = context->id();
  asking_until_ = now_seconds() + kAskingSeconds;
  state_ = State::kAsking;
  state_ = look(*context);
  return kOk;
}

bool Fence::passed() {
  if (state_ == State::kPassed) return true;
  Context* context = Context::find(context_, id_);
  state_ = context != nullptr ? look(*context) : State::kPassed;
  return state_ == State::kPassed;
}

}  // namespace hr::mem::device
