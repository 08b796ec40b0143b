// Library: the UCX functions that this library calls, found at run time, so that it neither links to UCX nor needs it.
//
// Owner: process-wide; opened once, never closed (UCX's threads and modules cannot be unloaded). Threads: library lock.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "base/status.hpp"

namespace hr::transport::ucx {

// X(name): the function ucp_<name>.
#define HR_UCP_FUNCTIONS(X)     \
  X(config_read)                \
  X(config_modify)              \
  X(config_release)             \
  X(init_version)               \
  X(cleanup)                    \
  X(context_query)              \
  X(get_version)                \
  X(get_version_string)         \
  X(worker_create)              \
  X(worker_destroy)             \
  X(worker_query)               \
  X(worker_release_address)     \
  X(worker_progress)            \
  X(worker_get_efd)             \
  X(worker_arm)                 \
  X(worker_set_am_recv_handler) \
  X(ep_create)                  \
  X(ep_close_nbx)               \
  X(ep_flush_nbx)               \
  X(request_free)               \
  X(request_check_status)       \
  X(am_send_nbx)                \
  X(am_recv_data_nbx)           \
  X(am_data_release)            \
  X(dt_create_generic)          \
  X(dt_destroy)                 \
  X(mem_map)                    \
  X(mem_unmap)                  \
  X(rkey_pack)                  \
  X(rkey_buffer_release)        \
  X(ep_rkey_unpack)             \
  X(rkey_destroy)               \
  X(put_nbx)                    \
  X(get_nbx)

// Functions that some supported versions lack, and that are null then.
#define HR_UCP_OPTIONAL(X) \
  X(ep_evaluate_perf)      \
  X(ep_query)

struct Library {
#define HR_DECLARE(name) decltype(&::ucp_##name) name = nullptr;
  HR_UCP_FUNCTIONS(HR_DECLARE)
  HR_UCP_OPTIONAL(HR_DECLARE)
#undef HR_DECLARE
  const char* (*status_string)(ucs_status_t) = nullptr;
  std::string path;  // path at which libucp.so.0 was found

  [[nodiscard]] std::string text(ucs_status_t status) const { return status_string(status); }
};

// True if this host has an active RDMA network (InfiniBand, RoCE) that this process can use.
[[nodiscard]] bool host_has_rdma();
// Returns why UCX suits this host: it has such a network, or the user has enabled what only UCX provides; empty: it
// does not. The variables of UCX itself do not count: environment modules of a site often set them.
[[nodiscard]] std::string suits_host();

// Opens the library on the first call. Errors: MPI_ERR_OTHER with the places searched and the package to install.
Status open_library(const Library** out);

}  // namespace hr::transport::ucx
