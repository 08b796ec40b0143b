// Watched calls: the path of an entry point if every call is looked at (HEADRACE_CHECK=device, full).
//
// It costs nothing otherwise: entry points test one flag, `ready` (bind/runtime.hpp), which stays false while calls are
// watched, and then branch to a cold function. That describes the arguments, has them looked at, and calls the entry
// point again, which is let through once. Owner: the entry point, for the length of the call. Threads: any.
#pragma once

#include <initializer_list>
#include <span>

#include "bind/raise.hpp"
#include "check/call.hpp"

namespace hr::bind {

using check::Argument;

// True from the first use of MPI to the end of the last if calls are watched: for entry points that may be called at
// any time.
inline bool watching = false;

// Returns true once after a call has been looked at.
[[gnu::cold]] bool let_through() noexcept;

enum class Needs : bool { kNothing, kInitialized };

// Looks at a call before and after its body.
class WatchedCall {
 public:
  // Ends the process, as not_ready() does, if the library may not be used now.
  WatchedCall(const Call& call, Needs needs, const void* caller, std::span<const Argument> arguments);
  // Returns the code of a mistake that was raised, in which case the body must not run; MPI_SUCCESS: none.
  [[nodiscard]] int code() const noexcept { return code_; }
  // Returns the call's result, given its body's `code`.
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
