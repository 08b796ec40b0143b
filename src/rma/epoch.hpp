// Epochs (MPI 5.0 section 12.5): checks that calls are allowed in the current epoch. Internal to rma/.
#pragma once

#include "rma/window.hpp"

namespace hr::rma {

// Checks a communication call. Errors: MPI_ERR_RANK, MPI_ERR_RMA_SYNC. `by_request`: the call returns a request, which
// is allowed only in passive target epochs.
Status check_access(Window& window, int rank, bool by_request);
Status check_rank(const Window& window, int rank);
// Errors: MPI_ERR_RMA_SYNC if an access epoch is open in which `what` must not be called. An epoch between fences
// without operations does not count (section 12.5.1).
Status check_no_access(Window& window, const char* what);

// Wait until this process's operations at a member, or at all members, are done; return their first failure.
Status finish_operations(Window& window, int rank, bool local);
Status finish_operations(Window& window, bool local);
Status take_failure(Window& window);

}  // namespace hr::rma
