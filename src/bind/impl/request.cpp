// Requests: waiting, testing, starting, cancelling, freeing (MPI 5.0 sections 3.7 to 3.9).
#include <memory>

#include "bind/impl.hpp"
#include "bind/impl/completion.hpp"
#include "bind/impl/request_support.hpp"
#include "bind/raise.hpp"
#include "bind/test_guard.hpp"
#include "p2p/progress.hpp"
#include "p2p/turns.hpp"

namespace hr::bind::impl {
namespace {

// Objects behind an array of handles; on the stack if the array is short.
class RequestArray {
 public:
  Status look_up(int count, const MPI_Request* handles) {
    count_ = count;
    if (count > kInline) large_ = std::make_unique_for_overwrite<p2p::Request*[]>(static_cast<std::size_t>(count));
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

// Makes a round of progress for a call that tests one request. Repeated tests of a null or inactive request
// occasionally let other threads in.
void poll_for(const p2p::Request* request, TestGuard& guard) {
  constexpr unsigned kCallsPerTurn = 32;
  thread_local unsigned calls = 0;
  if (!is_ready(request)) {
    guard.poll_unless([] { return false; });
  } else if (!counts(request) && ++calls % kCallsPerTurn == 0) [[unlikely]] {
    guard.poll_unless([] { return true; });
  }
}

MPI_Status* at(MPI_Status* statuses, int index) {
  return statuses == MPI_STATUSES_IGNORE ? statuses : statuses + index;
}

// Reports one element of an array. With statuses, its error is stored in its status, and the call fails with
// MPI_ERR_IN_STATUS (section 3.7.5); without statuses, the caller gets only the first error.
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

// Waits for requests that are not ready, in order, and reports each of them.
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

// True if all requests are ready. Each call resumes at the first request that was not ready.
class AllReady {
 public:
  explicit AllReady(RequestArray& requests) noexcept : requests_(requests) {}
  bool operator()() noexcept {
    while (at_ < requests_.size() && is_ready(requests_[at_])) ++at_;
    return at_ == requests_.size();
  }

 private:
  RequestArray& requests_;
  int at_ = 0;
};

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

// The first complete request of an array; if there is none, `any` has been determined from all requests.
struct FirstReady {
  p2p::Request* request = nullptr;
  int index = -1;
  bool any = false;  // true if any request counts
};

// Searches the handles only up to the first complete one, so that a program that completes requests one at a time does
// not look up all handles in every call.
Status find_first_ready(int count, const MPI_Request* handles, FirstReady* first) {
  *first = {};
  for (int i = 0; i < count; ++i) {
    if (handles[i] == MPI_REQUEST_NULL) continue;
    p2p::Request* request = nullptr;
    HR_TRY(find_request(handles[i], i, &request));
    if (!counts(request)) continue;
    first->any = true;
    if (!request->complete()) continue;
    first->request = request;
    first->index = i;
    return kOk;
  }
  return kOk;
}

// Searches, makes progress, and searches again. If no request counts, no progress is needed.
Status find_first_ready(int count, const MPI_Request* handles, FirstReady* first, TestGuard& guard) {
  Status status = find_first_ready(count, handles, first);
  if (!status.ok() || first->request != nullptr) return status;
  const auto known = [&] {
    status = find_first_ready(count, handles, first);
    return !status.ok() || first->request != nullptr || !first->any;
  };
  guard.poll_unless(known);
  static_cast<void>(known());
  return status;
}

// Makes progress until nothing moves, then finds the first complete request. For calls that report all
// complete requests.
int first_ready(RequestArray& requests, bool* any, TestGuard& guard) {
  guard.poll_on([&] { return first_ready(requests, any) >= 0 || !*any; }, [] { return false; });
  return first_ready(requests, any);
}

// Reports every complete request, for MPI_Waitsome and MPI_Testsome.
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
  if (!is_ready(object)) {
    HR_TRY(p2p::wait(*object));
  } else if (!counts(object)) [[unlikely]] {
    p2p::take_turn();
  }
  return report_and_release(request, object, status);
}

Status test(MPI_Request* request, int& flag, MPI_Status* status, TestGuard& guard) {
  p2p::Request* object = nullptr;
  HR_TRY(find_request(*request, -1, &object));
  poll_for(object, guard);
  flag = is_ready(object) ? 1 : 0;
  if (flag == 0) return kOk;
  if (counts(object)) guard.enter();
  return report_and_release(request, object, status);
}

Status waitall(int count, MPI_Request* array_of_requests, MPI_Status* array_of_statuses) {
  p2p::take_turn();
  RequestArray requests;
  HR_TRY(requests.look_up(count, array_of_requests));
  return report_all(requests, array_of_requests, array_of_statuses);
}

Status testall(int count, MPI_Request* array_of_requests, int& flag, MPI_Status* array_of_statuses, TestGuard& guard) {
  RequestArray requests;
  HR_TRY(requests.look_up(count, array_of_requests));
  AllReady all_ready(requests);
  guard.poll_on(all_ready, all_ready);
  flag = all_ready() ? 1 : 0;
  if (flag == 0) return kOk;
  if (any_counts(requests)) guard.enter();
  return report_all(requests, array_of_requests, array_of_statuses);
}

Status waitany(int count, MPI_Request* array_of_requests, int& index, MPI_Status* status) {
  FirstReady first;
  HR_TRY(find_first_ready(count, array_of_requests, &first));
  if (first.request == nullptr && first.any) {
    RequestArray requests;
    HR_TRY(requests.look_up(count, array_of_requests));
    HR_TRY(p2p::wait_until([&] { return (first.index = first_ready(requests, &first.any)) >= 0; }));
    first.request = requests[first.index];
  }
  if (!first.any) {
    p2p::take_turn();
    index = MPI_UNDEFINED;
    report_empty(status);
    return kOk;
  }
  index = first.index;
  return report_and_release(&array_of_requests[index], first.request, status);
}

Status testany(int count, MPI_Request* array_of_requests, int& index, int& flag, MPI_Status* status, TestGuard& guard) {
  FirstReady first;
  HR_TRY(find_first_ready(count, array_of_requests, &first, guard));
  index = MPI_UNDEFINED;
  flag = first.any ? 0 : 1;
  if (!first.any) report_empty(status);
  if (first.request == nullptr) return kOk;
  index = first.index;
  flag = 1;
  guard.enter();
  return report_and_release(&array_of_requests[index], first.request, status);
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
  poll_for(object, guard);
  flag = is_ready(object) ? 1 : 0;
  if (flag == 0) return kOk;
  if (counts(object)) guard.enter();
  return report_only(object, status);
}

Status request_get_status_all(int count, const MPI_Request* array_of_requests, int& flag, MPI_Status* array_of_statuses,
                              TestGuard& guard) {
  RequestArray requests;
  HR_TRY(requests.look_up(count, array_of_requests));
  AllReady all_ready(requests);
  guard.poll_on(all_ready, all_ready);
  flag = all_ready() ? 1 : 0;
  if (flag == 0) return kOk;
  if (any_counts(requests)) guard.enter();
  for (int i = 0; i < count; ++i) HR_TRY(report_only(requests[i], at(array_of_statuses, i)));
  return kOk;
}

Status request_get_status_any(int count, const MPI_Request* array_of_requests, int& index, int& flag,
                              MPI_Status* status, TestGuard& guard) {
  FirstReady first;
  HR_TRY(find_first_ready(count, array_of_requests, &first, guard));
  index = first.request == nullptr ? MPI_UNDEFINED : first.index;
  flag = !first.any || first.request != nullptr ? 1 : 0;
  if (!first.any) report_empty(status);
  if (first.request == nullptr) return kOk;
  guard.enter();
  return report_only(first.request, status);
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
      return raised_for(*object,
                        fail(Errc::kRequest, "request %d is already active; wait for it before starting it again", i));
    HR_TRY(raised_for(*object, object->state_->start(*object)));
  }
  return kOk;
}

Status cancel(MPI_Request* request) {
  p2p::Request* object = nullptr;
  HR_TRY(find_request(*request, -1, &object));
  if (object == nullptr) return fail(Errc::kRequest, "request is MPI_REQUEST_NULL, which cannot be cancelled");
  return raised_for(*object, p2p::cancel(*object));
}

Status request_free(MPI_Request* request) {
  p2p::Request* object = nullptr;
  HR_TRY(find_request(*request, -1, &object));
  if (object == nullptr) return fail(Errc::kRequest, "request is MPI_REQUEST_NULL, which cannot be freed");
  if (const Status allowed = p2p::may_free(*object); !allowed.ok()) return raised_for(*object, allowed);
  Status retired = kOk;
  if (object->complete() && object->state_ != nullptr && !object->persistent())
    retired = object->state_->retire(*object);
  // An operation in progress completes; the engine holds the request until then.
  release(object);
  *request = MPI_REQUEST_NULL;
  return retired;
}

}  // namespace hr::bind::impl
