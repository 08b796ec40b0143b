#include "p2p/attendance.hpp"

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "mem/cuda/attendant.hpp"
#include "mem/cuda/context.hpp"
#include "p2p/engine.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {
namespace {

using mem::cuda::Context;

// A process that sends at the same time has announced its message by then.
constexpr double kLookSeconds = 1e-6;

struct State final : FileState {
  bool attending = false;
};

// A failure is told when the message is moved.
void call_attendant(const layout::View& data) {
  Context* context = nullptr;
  if (!Context::of(data.where, &context).ok() || !context->attendant().to_be_called(data.packed)) return;
  const mem::cuda::Current current(*context);
  if (current.status().ok()) context->attendant().call(data.packed);
}

}  // namespace

void Attendance::begin(const Request& waited_for) {
  const layout::View& data = waited_for.view_;
  if (own<State>().attending || waited_for.complete() || !data.contiguous || data.packed > knobs().cuda_attend_bytes)
    return;
  // It has its message: what remains is the copy.
  if (waited_for.is_receive_ && waited_for.phase_ != Request::Phase::kPosted) return;
  waited_for_ = &waited_for;
  own<State>().attending = true;
  begun_ = now_seconds();
  add_hook(&look, this);
}

bool Attendance::look(void* attendance) {
  const auto& self = *static_cast<Attendance*>(attendance);
  const Request& waited_for = *self.waited_for_;
  const bool moves = waited_for.is_receive_ && waited_for.phase_ != Request::Phase::kPosted;
  if (!moves && now_seconds() < self.begun_ + kLookSeconds) return false;
  remove_hook(&look, attendance);
  if (!moves) call_attendant(waited_for.view_);
  return false;
}

void Attendance::end() {
  remove_hook(&look, this);
  own<State>().attending = false;
}

}  // namespace hr::p2p
