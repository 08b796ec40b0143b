// Epochs (MPI 5.0 section 12.5): checks that a process may do what it calls for. Internal to rma/.
#pragma once

#include "rma/window.hpp"

namespace hr::rma {

// Checks a communication call. Errors: MPI_ERR_RANK, MPI_ERR_RMA_SYNC. `by_request`: only in epochs of passive target.
Status check_access(Window& window, int rank, bool by_request);
Status check_rank(const Window& window, int rank);
// Errors: MPI_ERR_RMA_SYNC if an epoch of access is open that `what` may not be called in. A fence's epoch without
// operations does not count (section 12.5.1).
Status check_no_access(Window& window, const char* what);

// Wait until this process's operations at a member, or at all, are done; return their failure.
Status finish_operations(Window& window, int rank, bool local);
Status finish_operations(Window& window, bool local);
Status take_failure(Window& window);

}  // namespace hr::rma
