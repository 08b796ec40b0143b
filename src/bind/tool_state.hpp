// Whether the tool information interface may be used (MPI 5.0 section 15.3.4); its functions ask first.
#pragma once

namespace hr::bind {

// MPI_T_init_thread has been called more often than MPI_T_finalize.
bool tool_initialised() noexcept;

}  // namespace hr::bind
