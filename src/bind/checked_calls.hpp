// Checked calls: the path of an entry point if every call is checked (HEADRACE_CHECK=device, full).
//
// It costs nothing otherwise: entry points test one flag, `ready` (bind/runtime.hpp), which stays false while calls are
// checked, and then branch to a cold function. That function describes the arguments, has them checked, and calls the
// entry point again, which is let through once. Owner: the entry point, for the length of the call. Threads: any.
#pragma once

#include <initializer_list>
#include <span>

#include "bind/raise.hpp"
#include "check/call.hpp"

namespace hr::bind {

using check::Argument;

// True from the first use of MPI to the end of the last if calls are checked: for entry points that may be called at
// any time.
inline bool checking = false;

// Returns true once after a call has been checked.
[[gnu::cold]] bool consume_pass() noexcept;

enum class Needs : bool { kNothing, kInitialized };

// Checks a call before and after its body.
class CheckedCall {
 public:
  // Ends the process, as not_ready() does, if the library may not be used now.
  CheckedCall(const Call& call, Needs needs, const void* caller, std::span<const Argument> arguments);
  // Returns the code of a mistake that was raised, in which case the body must not run; MPI_SUCCESS: none.
  [[nodiscard]] int code() const noexcept { return code_; }
  // Returns the call's result, given its body's `code`.
  int finish(int code);

 private:
  const Call& call_;
  check::Call seen_;
  int code_ = 0;
};

template <class Body>
int check_call(const Call& call, Needs needs, const void* caller, std::initializer_list<Argument> arguments,
               const Body& body) {
  CheckedCall checked(call, needs, caller, {arguments.begin(), arguments.size()});
  return checked.code() != 0 ? checked.code() : checked.finish(body());
}

}  // namespace hr::bind
