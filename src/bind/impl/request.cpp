// Requests: waiting, testing, starting, cancelling, freeing (MPI 5.0 sections 3.7 to 3.9).
#include <memory>

#include "bind/impl.hpp"
#include "bind/impl/completion.hpp"
#include "bind/raise.hpp"
#include "bind/test_guard.hpp"
#include "p2p/progress.hpp"

namespace hr::bind::impl {
namespace {

// The objects behind an array of handles; on the stack while the array is short.
class RequestArray {
 public:
  Status look_up(int count, const MPI_Request* handles) {
    count_ = count;
    if (count > kInline) large_ = std::make_unique<p2p::Request*[]>(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) HR_TRY(find_request(handles[i], i, &data()[i]));
    return kOk;
  }
  p2p::Request*& operator[](int index) { return data()[index]; }
  [[nodiscard]] int size() const { return count_; }

 private:
  static constexpr int kInline = 128;
  p2p::Request** data() { return large_ == nullptr ? small_ : large_.get(); }
  int count_ = 0;
  p2p::Request* small_[kInline];
  std::unique_ptr<p2p::Request*[]> large_;
};

MPI_Status* at(MPI_Status* statuses, int index) {
  return statuses == MPI_STATUSES_IGNORE ? statuses : statuses + index;
}

// One element of an array is reported. With statuses its error goes there and the call's is MPI_ERR_IN_STATUS (section
// 3.7.5); without, the first error is all the caller can get.
void report_element(int index, MPI_Request* handle, p2p::Request* request, MPI_Status* status, Status* first) {
  const Status error = report_and_release(handle, request, status);
  if (status == MPI_STATUS_IGNORE) {
    if (!error.ok() && first->ok()) *first = error;
    return;
  }
  status->MPI_ERROR = error.ok() ? MPI_SUCCESS : record(error);
  if (error.ok()) return;
  *first = Errc::kInStatus;
  blame_element(index, status->MPI_ERROR);
}

// Waits for those that are not ready, in order, and reports each of them.
Status report_all(RequestArray& requests, MPI_Request* handles, MPI_Status* statuses) {
  Status first = kOk;
  for (int i = 0; i < requests.size(); ++i) {
    p2p::Request* request = requests[i];
    if (!is_ready(request)) [[unlikely]]
      HR_TRY(p2p::wait(*request));
    if (statuses == MPI_STATUSES_IGNORE && request != nullptr && request->completed_locally()) [[likely]] {
      handles[i] = MPI_REQUEST_NULL;
      p2p::release_request(request);
    } else {
      report_element(i, &handles[i], request, at(statuses, i), &first);
    }
  }
  return first;
}

bool all_ready(RequestArray& requests) {
  for (int i = 0; i < requests.size(); ++i) {
    if (!is_ready(requests[i])) return false;
  }
  return true;
}

bool any_counts(RequestArray& requests) {
  for (int i = 0; i < requests.size(); ++i) {
    if (counts(requests[i])) return true;
  }
  return false;
}

int first_ready(RequestArray& requests, bool* any) {
  *any = false;
  for (int i = 0; i < requests.size(); ++i) {
    if (!counts(requests[i])) continue;
    *any = true;
    if (requests[i]->complete()) return i;
  }
  return -1;
}

// Progress, then the same. Without any that counts the answer is known before.
int first_ready(RequestArray& requests, bool* any, TestGuard& guard) {
  guard.poll_unless([&] { return first_ready(requests, any) >= 0 || !*any; });
  return first_ready(requests, any);
}

// Reports every complete one; for waitsome and testsome.
Status report_some(RequestArray& requests, MPI_Request* handles, int& outcount, int* indices, MPI_Status* statuses) {
  Status first = kOk;
  outcount = 0;
  for (int i = 0; i < requests.size(); ++i) {
    if (!counts(requests[i]) || !requests[i]->complete()) continue;
    indices[outcount] = i;
    report_element(i, &handles[i], requests[i], at(statuses, outcount), &first);
    ++outcount;
  }
  return first;
}

}  // namespace

Status wait(MPI_Request* request, MPI_Status* status) {
  p2p::Request* object = nullptr;
  HR_TRY(find_request(*request, -1, &object));
  if (!is_ready(object)) HR_TRY(p2p::wait(*object));
  return report_and_release(request, object, status);
}

Status test(MPI_Request* request, int& flag, MPI_Status* status, TestGuard& guard) {
  p2p::Request* object = nullptr;
  HR_TRY(find_request(*request, -1, &object));
  if (!is_ready(object)) guard.poll_unless([] { return false; });
  flag = is_ready(object) ? 1 : 0;
  if (flag == 0) return kOk;
  if (counts(object)) guard.enter();
  return report_and_release(request, object, status);
}

Status waitall(int count, MPI_Request* array_of_requests, MPI_Status* array_of_statuses) {
  RequestArray requests;
  HR_TRY(requests.look_up(count, array_of_requests));
  return report_all(requests, array_of_requests, array_of_statuses);
}

Status testall(int count, MPI_Request* array_of_requests, int& flag, MPI_Status* array_of_statuses, TestGuard& guard) {
  RequestArray requests;
  HR_TRY(requests.look_up(count, array_of_requests));
  guard.poll_unless([&] { return all_ready(requests); });
  flag = all_ready(requests) ? 1 : 0;
  if (flag == 0) return kOk;
  if (any_counts(requests)) guard.enter();
  return report_all(requests, array_of_requests, array_of_statuses);
}

Status waitany(int count, MPI_Request* array_of_requests, int& index, MPI_Status* status) {
  RequestArray requests;
  HR_TRY(requests.look_up(count, array_of_requests));
  bool any = false;
  int ready = first_ready(requests, &any);
  if (any && ready < 0) HR_TRY(p2p::wait_until([&] { return (ready = first_ready(requests, &any)) >= 0; }));
  if (!any) {
    index = MPI_UNDEFINED;
    report_empty(status);
    return kOk;
  }
  index = ready;
  return report_and_release(&array_of_requests[ready], requests[ready], status);
}

Status testany(int count, MPI_Request* array_of_requests, int& index, int& flag, MPI_Status* status, TestGuard& guard) {
  RequestArray requests;
  HR_TRY(requests.look_up(count, array_of_requests));
  bool any = false;
  const int ready = first_ready(requests, &any, guard);
  index = MPI_UNDEFINED;
  flag = any ? 0 : 1;
  if (!any) report_empty(status);
  if (ready < 0) return kOk;
  index = ready;
  flag = 1;
  guard.enter();
  return report_and_release(&array_of_requests[ready], requests[ready], status);
}

Status waitsome(int incount, MPI_Request* array_of_requests, int& outcount, int* array_of_indices,
                MPI_Status* array_of_statuses) {
  RequestArray requests;
  HR_TRY(requests.look_up(incount, array_of_requests));
  bool any = false;
  p2p::poll();
  if (first_ready(requests, &any) < 0 && any) {
    HR_TRY(p2p::wait_until([&] { return first_ready(requests, &any) >= 0; }));
  }
  if (!any) {
    outcount = MPI_UNDEFINED;
    return kOk;
  }
  return report_some(requests, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

Status testsome(int incount, MPI_Request* array_of_requests, int& outcount, int* array_of_indices,
                MPI_Status* array_of_statuses, TestGuard& guard) {
  RequestArray requests;
  HR_TRY(requests.look_up(incount, array_of_requests));
  bool any = false;
  const int ready = first_ready(requests, &any, guard);
  outcount = any ? 0 : MPI_UNDEFINED;
  if (ready < 0) return kOk;
  guard.enter();
  return report_some(requests, array_of_requests, outcount, array_of_indices, array_of_statuses);
}

// --- looking without freeing (section 3.7.6) ---

Status request_get_status(MPI_Request request, int& flag, MPI_Status* status, TestGuard& guard) {
  p2p::Request* object = nullptr;
  HR_TRY(find_request(request, -1, &object));
  if (!is_ready(object)) guard.poll_unless([] { return false; });
  flag = is_ready(object) ? 1 : 0;
  if (flag == 0) return kOk;
  if (counts(object)) guard.enter();
  return report_only(object, status);
}

Status request_get_status_all(int count, const MPI_Request* array_of_requests, int& flag, MPI_Status* array_of_statuses,
                              TestGuard& guard) {
  RequestArray requests;
  HR_TRY(requests.look_up(count, array_of_requests));
  guard.poll_unless([&] { return all_ready(requests); });
  flag = all_ready(requests) ? 1 : 0;
  if (flag == 0) return kOk;
  if (any_counts(requests)) guard.enter();
  for (int i = 0; i < count; ++i) HR_TRY(report_only(requests[i], at(array_of_statuses, i)));
  return kOk;
}

Status request_get_status_any(int count, const MPI_Request* array_of_requests, int& index, int& flag,
                              MPI_Status* status, TestGuard& guard) {
  RequestArray requests;
  HR_TRY(requests.look_up(count, array_of_requests));
  bool any = false;
  const int ready = first_ready(requests, &any, guard);
  index = ready < 0 ? MPI_UNDEFINED : ready;
  flag = !any || ready >= 0 ? 1 : 0;
  if (!any) report_empty(status);
  if (ready < 0) return kOk;
  guard.enter();
  return report_only(requests[ready], status);
}

Status request_get_status_some(int incount, const MPI_Request* array_of_requests, int& outcount, int* array_of_indices,
                               MPI_Status* array_of_statuses, TestGuard& guard) {
  RequestArray requests;
  HR_TRY(requests.look_up(incount, array_of_requests));
  bool any = false;
  const int ready = first_ready(requests, &any, guard);
  outcount = any ? 0 : MPI_UNDEFINED;
  if (ready < 0) return kOk;
  guard.enter();
  for (int i = 0; i < incount; ++i) {
    if (!counts(requests[i]) || !requests[i]->complete()) continue;
    HR_TRY(report_only(requests[i], at(array_of_statuses, outcount)));
    array_of_indices[outcount++] = i;
  }
  return kOk;
}

// --- starting, cancelling, freeing ---

Status start(MPI_Request* request) { return startall(1, request); }

Status startall(int count, MPI_Request* array_of_requests) {
  for (int i = 0; i < count; ++i) {
    p2p::Request* object = nullptr;
    HR_TRY(find_request(array_of_requests[i], i, &object));
    if (object == nullptr) return fail(Errc::kRequest, "request %d is MPI_REQUEST_NULL, which cannot be started", i);
    if (!object->persistent()) return fail(Errc::kRequest, "request %d is not persistent and cannot be started", i);
    if (object->active())
      return fail(Errc::kRequest, "request %d is already active; wait for it before starting it again", i);
    HR_TRY(object->state_->start(*object));
  }
  return kOk;
}

Status cancel(MPI_Request* request) {
  p2p::Request* object = nullptr;
  HR_TRY(find_request(*request, -1, &object));
  if (object == nullptr) return fail(Errc::kRequest, "request is MPI_REQUEST_NULL, which cannot be cancelled");
  return p2p::cancel(*object);
}

Status request_free(MPI_Request* request) {
  p2p::Request* object = nullptr;
  HR_TRY(find_request(*request, -1, &object));
  if (object == nullptr) return fail(Errc::kRequest, "request is MPI_REQUEST_NULL, which cannot be freed");
  Status retired = kOk;
  if (object->complete() && object->state_ != nullptr && !object->persistent())
    retired = object->state_->retire(*object);
  // What is under way completes; the engine holds the request until then.
  release(object);
  *request = MPI_REQUEST_NULL;
  return retired;
}

}  // namespace hr::bind::impl
