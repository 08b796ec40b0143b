#include "bind/impl/completion.hpp"

#include "bind/handles.hpp"
#include "bind/raise.hpp"
#include "bind/status.hpp"
#include "p2p/process_failure.hpp"

namespace hr::bind::impl {
namespace {

// Returns the operation's outcome; an error is raised on the communicator on which it was started.
Status outcome(p2p::Request& request, MPI_Status* status) {
  p2p::Completion completion = request.completion_;
  Status error = completion.error;
  if (request.state_ != nullptr) {
    const Status asked = request.state_->query(request, &completion);
    if (error.ok()) error = asked;
  }
  fill_status(status, completion);
  if (!error.ok()) [[unlikely]] {
    if (!request.detail().empty()) set_detail(request.detail());
    if (request.communicator_ != nullptr) blame(request.communicator_);
  }
  return error;
}

}  // namespace

Status no_request(MPI_Request handle, int index) {
  if (index < 0)
    return fail(Errc::kRequest, "request is %p, which is not a live request (freed or completed already?)",
                static_cast<void*>(handle));
  return fail(Errc::kRequest, "array_of_requests[%d] is %p, which is not a live request (freed or completed already?)",
              index, static_cast<void*>(handle));
}

Status report_and_release(MPI_Request* handle, p2p::Request* request, MPI_Status* status) {
  if (request == nullptr || !request->active()) {
    report_empty(status);
    return kOk;
  }
  Status error = outcome(*request, status);
  if (!error.ok() && p2p::is_interrupted(*request)) [[unlikely]]
    return error;
  if (request->persistent()) {
    request->active_ = false;
    return error;
  }
  if (request->state_ != nullptr) {
    const Status freed = request->state_->retire(*request);
    if (error.ok()) error = freed;
  }
  *handle = MPI_REQUEST_NULL;
  p2p::release_request(request);
  return error;
}

Status report_only(p2p::Request* request, MPI_Status* status) {
  if (request == nullptr || !request->active()) {
    report_empty(status);
    return kOk;
  }
  return outcome(*request, status);
}

void report_empty(MPI_Status* status) {
  if (status != MPI_STATUS_IGNORE) set_empty(*status);
}

}  // namespace hr::bind::impl
