// Runtime: brings the layers up and takes them down (MPI 5.0 sections 11.2 to 11.4).
//
// The world model (MPI_Init) and every session hold one use each; the layers exist while there is one.
// MPI_Finalize as the last use takes them down; a session as the last use leaves that to the exit of the process, so
// that a program may make sessions one after the other.
// Threads: library lock, except `ready` and the queries that any thread may call at any time.
#pragma once

#include "base/status.hpp"

namespace hr::bind {

// True while MPI functions may be called and calls are not checked (bind/checked_calls.hpp); tested by every entry
// point.
inline bool ready = false;

namespace runtime {

// Begin and end one use, for sessions. Errors: of the layers that come up; MPI_ERR_OTHER after MPI_Finalize.
Status acquire();
Status release();

// Begin and end the world model, for MPI_Init, MPI_Init_thread; MPI_Finalize. Errors: MPI_ERR_OTHER if called twice.
Status init_world(int required, int* provided);
Status finalize_world();

// True if MPI functions may be called.
bool in_use() noexcept;
bool world_initialized() noexcept;
bool world_finalized() noexcept;
// Returns the level that MPI_Init_thread granted (MPI_THREAD_*).
int thread_level() noexcept;
bool is_main_thread() noexcept;

// Turns the library lock on, in the middle of a call: the caller's LibraryGuard stays balanced. May be called again.
void enable_threads() noexcept;

}  // namespace runtime

// Reports that an entry point may not be called now, and ends the process, as there is no error handler yet (or any
// more) that could be called.
[[noreturn, gnu::cold, gnu::noinline]] void not_ready(const char* function);

}  // namespace hr::bind
