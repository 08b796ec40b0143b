// Watched calls: what an entry point does where every call is looked at (HEADRACE_CHECK=device, full).
//
// It costs nothing otherwise: entry points ask one flag, `ready` (bind/runtime.hpp), which stays false while calls are
// watched, and leave for a cold function of their own then. That describes the arguments, has them looked at, and calls
// the entry point again, which is let through once. Owner: the entry point, for the length of the call. Threads: any.
#pragma once

#include <initializer_list>
#include <span>

#include "bind/raise.hpp"
#include "check/call.hpp"

namespace hr::bind {

using check::Argument;

// True from the first use of MPI to the end of the last where calls are watched: for entry points that may be called at
// any time.
inline bool watching = false;

// Whether this call has been looked at: true once after each.
[[gnu::cold]] bool let_through() noexcept;

enum class Needs : bool { kNothing, kInitialized };

// Looks at a call before and after its body.
class WatchedCall {
 public:
  // Where the library may not be used now this ends the process, as not_ready() does.
  WatchedCall(const Call& call, Needs needs, const void* caller, std::span<const Argument> arguments);
  // Not MPI_SUCCESS: a mistake that was raised; the body is not to run.
  [[nodiscard]] int code() const noexcept { return code_; }
  // What the call returns, its body having returned `code`.
  int left(int code);

 private:
  const Call& call_;
  check::Call seen_;
  int code_ = 0;
};

template <class Body>
int watch(const Call& call, Needs needs, const void* caller, std::initializer_list<Argument> arguments,
          const Body& body) {
  WatchedCall watched(call, needs, caller, {arguments.begin(), arguments.size()});
  return watched.code() != 0 ? watched.code() : watched.left(body());
}

}  // namespace hr::bind
