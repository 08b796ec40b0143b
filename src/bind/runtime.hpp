// Runtime: brings the layers up and takes them down (MPI 5.0 sections 11.2 to 11.4).
//
// The world model (MPI_Init) and every session hold one use each; the layers exist while there is a use. If the last
// use ends with MPI_Finalize or after it, the layers are taken down. Otherwise, or if they were brought up again after
// MPI_Finalize, they stay until the process exits, so that a program may create one session after another. Threads:
// library lock, except `ready` and the queries that any thread may call at any time.
#pragma once

#include <cstdint>

#include "base/status.hpp"

namespace hr::bind {

// Tested by every entry point. kNotReady: MPI functions must not be called, or calls are checked
// (bind/checked_calls.hpp). kReadyWithChannels: calls may be for a channel other than 0 (bind/channel_calls.hpp).
enum Ready : std::uint8_t { kNotReady, kReady, kReadyWithChannels };
inline Ready ready = kNotReady;

namespace runtime {

// Begin and end one use, for sessions. Errors: those of the layers as they are brought up; after MPI_Finalize,
// MPI_ERR_OTHER if the launcher does not support boot::resume().
Status acquire();
Status release();

// Begin (MPI_Init, MPI_Init_thread) and end (MPI_Finalize) the world model. Errors: MPI_ERR_OTHER if called twice, or
// if the world model that is to end has not begun; those of the layers.
Status init_world(int required, int* provided);
Status finalize_world();

// True if MPI functions may be called.
bool in_use() noexcept;
bool world_initialized() noexcept;
bool world_finalized() noexcept;
// Returns the level that MPI_Init_thread granted (MPI_THREAD_*).
int thread_level() noexcept;
bool is_main_thread() noexcept;

// Enables the library lock within a call: the caller's LibraryGuard stays balanced. May be called again.
void enable_threads() noexcept;

}  // namespace runtime

// Reports that an entry point must not be called now, and ends the process, because there is no error handler before
// initialisation or after the end.
[[noreturn, gnu::cold, gnu::noinline]] void not_ready(const char* function);

}  // namespace hr::bind
