// Checked calls: the path through an entry point if every call is checked (HEADRACE_CHECK=device, full).
//
// Unchecked calls cost nothing more: every entry point tests `ready` (bind/runtime.hpp) in any case. While calls are
// checked, `ready` is kNotReady, and the entry point branches to a cold function. That function describes the
// arguments, checks them, and calls the entry point again, which then proceeds once without a check. Owner: the entry
// point, for the duration of the call. Threads: any.
#pragma once

#include <initializer_list>
#include <span>

#include "bind/raise.hpp"
#include "check/call.hpp"

namespace hr::bind {

using check::Argument;

// If calls are checked, true from the first use of MPI to the end of the last one. Read by entry points that may be
// called at any time.
inline bool checking = false;

// Returns true once after each checked call.
[[gnu::cold]] bool consume_pass() noexcept;

enum class Needs : bool { kNothing, kInitialized };

// Checks a call before and after its body.
class CheckedCall {
 public:
  // Ends the process, like not_ready(), if the library must not be used now.
  CheckedCall(const Call& call, Needs needs, const void* caller, std::span<const Argument> arguments);
  // Returns the error code if the check has raised an error, in which case the body must not run; else MPI_SUCCESS.
  [[nodiscard]] int code() const noexcept { return code_; }
  // Checks the call after its body, which returned `code`; returns the call's result.
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
