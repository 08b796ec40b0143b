// Partitions that kernels mark ready (include/mpi-ext.h). Entry points and bodies are not separate, as these functions
// are not in the standard.
#pragma GCC visibility push(default)
#include "mpi-ext.h"
#pragma GCC visibility pop

#include "bind/entry.hpp"
#include "bind/impl/completion.hpp"
#include "p2p/partitioned.hpp"
#include "p2p/partitioned/partition_marks.hpp"

namespace hr::bind {
namespace {

Status prepare(MPI_Request handle, MPIX_Prequest* prequest) {
  if (prequest == nullptr) return fail(Errc::kArg, "prequest is a null pointer");
  p2p::Request* request = nullptr;
  HR_TRY(impl::find_request(handle, -1, &request));
  if (request == nullptr) return fail(Errc::kRequest, "request is MPI_REQUEST_NULL, which has no partitions");
  p2p::PartitionMarks* marks = nullptr;
  HR_TRY(p2p::partition_marks(*request, &marks, &prequest->partitions));
  prequest->device_marks = marks->device();
  prequest->host_marks = marks->host();
  return kOk;
}

}  // namespace
}  // namespace hr::bind

using namespace hr;        // NOLINT
using namespace hr::bind;  // NOLINT

int MPIX_Prequest_create(MPI_Request request, MPIX_Prequest* prequest) {
  static constexpr Call kCall{"MPIX_Prequest_create"};
  if (!ready) [[unlikely]]
    if (!runtime::in_use()) not_ready(kCall.function);
  const LibraryGuard guard;
  const Status status = prepare(request, prequest);
  return status.ok() ? MPI_SUCCESS : raise(kCall, nullptr, status);
}

int MPIX_Prequest_free(MPIX_Prequest* prequest) {
  if (prequest != nullptr) *prequest = {};
  return MPI_SUCCESS;
}
