// State of the tool information interface (MPI 5.0 section 15.3.4); its functions first check that it is initialised.
#pragma once

namespace hr::bind {

// True if MPI_T_init_thread has been called more times than MPI_T_finalize.
bool tool_initialised() noexcept;

}  // namespace hr::bind
