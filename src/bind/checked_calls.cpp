#include "bind/checked_calls.hpp"

#include <utility>

#include "base/lock.hpp"
#include "bind/device_check.hpp"
#include "bind/runtime.hpp"
#include "check/check.hpp"

namespace hr::bind {
namespace {

thread_local bool looked_at = false;

}  // namespace

bool consume_pass() noexcept { return std::exchange(looked_at, false); }

CheckedCall::CheckedCall(const Call& call, Needs needs, const void* caller, std::span<const Argument> arguments)
    : call_(call), seen_(call.function, caller, arguments) {
  if (needs == Needs::kInitialized && !runtime::in_use()) not_ready(call.function);
  const LibraryGuard guard;
  Status status = device_check::check_arguments(call.function, arguments);
  if (status.ok() && check::is_on()) status = check::enter(seen_);
  if (!status.ok()) code_ = raise(call, seen_.where, status);
  looked_at = code_ == 0;
}

int CheckedCall::finish(int code) {
  looked_at = false;
  const LibraryGuard guard;
  if (!check::is_on()) return code;
  const Status status = check::leave(seen_, code);
  return status.ok() ? code : raise(call_, seen_.where, status);
}

}  // namespace hr::bind
