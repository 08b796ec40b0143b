#include "p2p/wait/resident_copy_scope.hpp"

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "mem/device/context.hpp"
#include "mem/device/resident_copier.hpp"
#include "p2p/core/engine.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {
namespace {

using mem::device::Context;

// Time before a launch. By then, a process that sends concurrently has sent its ready-to-send message.
constexpr double kLookSeconds = 1e-6;

struct State final : FileState {
  bool scope_active = false;
};

// Launches the kernel if it is worthwhile; failures are reported when the message is moved.
void launch_resident_copier(const layout::View& data) {
  Context* context = nullptr;
  if (!Context::of(data.where, &context).ok() || !context->resident_copier().wants_launch(data.packed)) return;
  const mem::device::Current current(*context);
  if (current.status().ok()) context->resident_copier().launch(data.packed);
}

}  // namespace

void expect_resident_copy(const Request& pending) {
  const layout::View& data = pending.view_;
  if (!data.where.is_device() || !data.contiguous || data.packed > knobs().device_resident_copy_bytes) return;
  if (pending.is_receive_ && pending.phase_ != Request::Phase::kPosted) return;
  launch_resident_copier(data);
}

void ResidentCopyScope::begin(const Request& waited_for) {
  const layout::View& data = waited_for.view_;
  if (own<State>().scope_active || waited_for.complete() || !data.contiguous ||
      data.packed > knobs().device_resident_copy_bytes)
    return;
  // The receive has matched its message, so only the copy remains.
  if (waited_for.is_receive_ && waited_for.phase_ != Request::Phase::kPosted) return;
  waited_for_ = &waited_for;
  own<State>().scope_active = true;
  begun_ = now_seconds();
  add_hook(&look, this);
}

bool ResidentCopyScope::look(void* scope) {
  const auto& self = *static_cast<ResidentCopyScope*>(scope);
  const Request& waited_for = *self.waited_for_;
  const bool moves = waited_for.is_receive_ && waited_for.phase_ != Request::Phase::kPosted;
  if (!moves && now_seconds() < self.begun_ + kLookSeconds) return false;
  remove_hook(&look, scope);
  if (!moves) launch_resident_copier(waited_for.view_);
  return false;
}

void ResidentCopyScope::end() {
  remove_hook(&look, this);
  own<State>().scope_active = false;
}

}  // namespace hr::p2p
