// Watched calls: what an entry point does first where every call is looked at (HEADRACE_CHECK=device).
//
// It costs nothing otherwise: entry points ask one flag, `ready` (bind/runtime.hpp), which stays false while calls are
// watched, and come here only then. Owner: the entry point, for the length of the call. Threads: any.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "bind/raise.hpp"

namespace hr::bind {

// An argument that is an address.
struct Argument {
  enum class Use : std::uint8_t {
    kRead,     // a buffer that the call only reads
    kWritten,  // a buffer that it may write
    kForHost   // counts, handles, statuses: for the CPU
  };
  const char* name;
  const void* address;
  Use use;
};

// Where the library may not be used now this ends the process, as not_ready() does. Else MPI_SUCCESS, or the error code
// of a mistake that was found and raised.
[[gnu::cold, gnu::noinline]] int enter_checked(const Call& call, std::initializer_list<Argument> arguments);

}  // namespace hr::bind
