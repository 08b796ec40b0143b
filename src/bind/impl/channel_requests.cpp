// Waits for and tests requests if at least one of them belongs to a channel.
#include <algorithm>
#include <string>
#include <vector>

#include "base/lock.hpp"
#include "bind/channel_calls.hpp"
#include "bind/handles.hpp"
#include "bind/impl.hpp"
#include "bind/impl/completion.hpp"
#include "bind/impl/request_support.hpp"
#include "bind/status.hpp"
#include "p2p/channel.hpp"
#include "p2p/channel_pace.hpp"
#include "p2p/progress.hpp"

namespace hr::bind::channel_calls {
namespace {

using impl::counts;
using impl::is_ready;
using p2p::Request;

Request* request_of(MPI_Request handle) noexcept { return lookup<Request>(handle); }
bool is_channels(const Request* request) noexcept { return request != nullptr && request->operation_ != nullptr; }

// True if all handles are valid, and one of them belongs to a channel.
bool any_channels(int count, const MPI_Request* handles) noexcept {
  if (count <= 0 || handles == nullptr) return false;
  bool any = false;
  for (int i = 0; i < count; ++i) {
    const Request* request = request_of(handles[i]);
    if (request == nullptr && handles[i] != MPI_REQUEST_NULL) return false;
    any = any || is_channels(request);
  }
  return any;
}

MPI_Status* at(MPI_Status* statuses, int index) noexcept {
  return statuses == MPI_STATUSES_IGNORE ? statuses : statuses + index;
}

// Makes one round of progress on every channel that the requests belong to. Returns the total number of moves.
unsigned poll_all(int count, const MPI_Request* handles) {
  const p2p::Channel* last = nullptr;
  bool engine = false;
  unsigned moves = 0;
  for (int i = 0; i < count; ++i) {
    const Request* request = request_of(handles[i]);
    if (is_ready(request)) continue;
    if (!is_channels(request)) {
      engine = true;
    } else if (request->operation_->channel != last) {
      last = request->operation_->channel;
      moves += request->operation_->channel->round();
    }
  }
  if (!engine) return moves;
  const LibraryGuard guard;
  return p2p::poll() ? moves + 1 : moves;
}

struct Outcome {
  Status error = kOk;
  std::string detail;
  Object* where = nullptr;
};

// Reports a ready request, and releases it unless `handle` is null.
Outcome report(MPI_Request* handle, Request* request, MPI_Status* status) {
  Outcome outcome;
  if (!counts(request)) {
    impl::report_empty(status);
  } else if (!is_channels(request)) {
    const LibraryGuard guard;
    outcome.where = request->communicator_;
    outcome.error =
        handle != nullptr ? impl::report_and_release(handle, request, status) : impl::report_only(request, status);
    if (!outcome.error.ok()) outcome.detail = take_detail();
  } else {
    fill_status(status, request->completion_);
    outcome.error = request->completion_.error;
    if (!outcome.error.ok()) {
      outcome.detail = request->detail();
      outcome.where = request->operation_->user.communicator;
    }
    if (handle == nullptr) return outcome;
    if (request->persistent()) {
      request->active_ = false;
    } else {
      *handle = MPI_REQUEST_NULL;
      request->operation_->channel->give_back(*request);
    }
  }
  return outcome;
}

int result(const Call& call, Outcome outcome) {
  if (outcome.error.ok()) [[likely]]
    return MPI_SUCCESS;
  const LibraryGuard guard;
  set_detail(std::move(outcome.detail));
  return raise(call, outcome.where, outcome.error);
}

// Reports several requests, and at the end the call's result (section 3.7.5).
class Report {
 public:
  void add(int index, MPI_Request* handle, Request* request, MPI_Status* status) {
    Outcome outcome = report(handle, request, status);
    if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = MPI_SUCCESS;
    if (outcome.error.ok()) [[likely]]
      return;
    if (status == MPI_STATUS_IGNORE) {
      if (first_.error.ok()) first_ = std::move(outcome);
      return;
    }
    const LibraryGuard guard;
    status->MPI_ERROR = record(outcome.error, std::move(outcome.detail));
    in_status_.push_back({index, status->MPI_ERROR, outcome.where});
  }
  int result(const Call& call) {
    if (in_status_.empty()) return channel_calls::result(call, std::move(first_));
    const LibraryGuard guard;
    for (const Element& each : in_status_) {
      if (each.where != nullptr) blame(each.where);
      blame_element(each.index, each.code);
    }
    return raise(call, nullptr, Errc::kInStatus);
  }

 private:
  struct Element {
    int index;
    int code;
    Object* where;
  };
  Outcome first_;
  std::vector<Element> in_status_;
};

void wait_for(Request* request) {
  if (is_ready(request)) return;
  if (is_channels(request)) return request->operation_->channel->wait(*request);
  const LibraryGuard guard;
  static_cast<void>(p2p::wait(*request));
}

// Waits for requests that all belong to one channel, and releases them, under one lock. False, with nothing released,
// if they do not, if there are more than kMost, or if one is persistent, not valid, or has an error.
bool wait_for_all(int count, MPI_Request* handles) {
  constexpr int kMost = 128;
  if (count > kMost) return false;
  Request* requests[kMost];
  p2p::Channel* channel = nullptr;
  int number = 0;
  for (int i = 0; i < count; ++i) {
    Request* const request = request_of(handles[i]);
    if (request == nullptr) {
      if (handles[i] != MPI_REQUEST_NULL) return false;
      continue;
    }
    if (!is_channels(request) || request->persistent()) return false;
    const p2p::ChannelOperation& operation = *request->operation_;
    if (channel != nullptr && operation.channel != channel) return false;
    channel = operation.channel;
    if (!operation.shared) requests[number++] = request;
  }
  if (channel == nullptr || (number != 0 && !channel->wait_all(requests, number))) return false;
  std::fill_n(handles, count, MPI_REQUEST_NULL);
  return true;
}

// Returns the index of the first complete request; -1 if there is none. *any: true if at least one is neither null nor
// inactive.
int first_ready(int count, const MPI_Request* handles, bool* any) {
  *any = false;
  for (int i = 0; i < count; ++i) {
    const Request* request = request_of(handles[i]);
    if (!counts(request)) continue;
    *any = true;
    if (request->complete()) return i;
  }
  return -1;
}

bool all_ready(int count, const MPI_Request* handles) {
  return std::all_of(handles, handles + count, [](MPI_Request each) { return is_ready(request_of(each)); });
}

// Searches for a complete request; if there is none, makes a round of progress and searches again.
int test_for_ready(int count, const MPI_Request* handles, bool* any) {
  int ready = first_ready(count, handles, any);
  if (ready >= 0 || !*any) return ready;
  poll_all(count, handles);
  ready = first_ready(count, handles, any);
  if (ready < 0) p2p::channels::pause_after_test();
  return ready;
}

bool test_for_all(int count, const MPI_Request* handles) {
  if (all_ready(count, handles)) return true;
  poll_all(count, handles);
  if (all_ready(count, handles)) return true;
  p2p::channels::pause_after_test();
  return false;
}

int wait_for_ready(int count, const MPI_Request* handles, bool* any) {
  p2p::channels::Pace pace;
  for (;;) {
    const int ready = first_ready(count, handles, any);
    if (ready >= 0 || !*any) return ready;
    pace.pause(poll_all(count, handles));
  }
}

// Executes a call that completes one of several requests, or some of them. `waits`: until one is complete. `released`:
// the array `handles`; null if the call only looks. False if an argument is wrong, or no request belongs to a channel.
bool complete_any(const Call& call, bool waits, int count, const MPI_Request* handles, MPI_Request* released,
                  int* index, int* flag, MPI_Status* status, int* code) {
  if (index == nullptr || !any_channels(count, handles)) return false;
  const Outside outside;
  Counted counted(call);
  bool any = false;
  const int ready = waits ? wait_for_ready(count, handles, &any) : test_for_ready(count, handles, &any);
  *index = ready < 0 ? MPI_UNDEFINED : ready;
  if (flag != nullptr) *flag = ready >= 0 || !any ? 1 : 0;
  if (!any) impl::report_empty(status);
  *code = MPI_SUCCESS;
  if (ready < 0) return true;
  *code = result(call, report(released == nullptr ? nullptr : &released[ready], request_of(handles[ready]), status));
  return true;
}

bool complete_some(const Call& call, bool waits, int count, const MPI_Request* handles, MPI_Request* released,
                   int* outcount, int* indices, MPI_Status* statuses, int* code) {
  if (outcount == nullptr || indices == nullptr || !any_channels(count, handles)) return false;
  const Outside outside;
  Counted counted(call);
  bool any = false;
  static_cast<void>(waits ? wait_for_ready(count, handles, &any) : test_for_ready(count, handles, &any));
  *outcount = any ? 0 : MPI_UNDEFINED;
  Report all;
  for (int i = 0; any && i < count; ++i) {
    Request* request = request_of(handles[i]);
    if (!counts(request) || !request->complete()) continue;
    indices[*outcount] = i;
    all.add(i, released == nullptr ? nullptr : &released[i], request, at(statuses, *outcount));
    ++*outcount;
  }
  *code = all.result(call);
  return true;
}

}  // namespace

bool wait(const Call& call, MPI_Request* request, MPI_Status* status, int* code) {
  if (request == nullptr) return false;
  Request* object = request_of(*request);
  if (!is_channels(object)) return false;
  const Outside outside;
  Counted counted(call);
  wait_for(object);
  *code = result(call, report(request, object, status));
  return true;
}

bool waitall(const Call& call, int count, MPI_Request* requests, MPI_Status* statuses, int* code) {
  if (count <= 0 || requests == nullptr) return false;
  const Outside outside;
  Counted counted(call);
  *code = MPI_SUCCESS;
  if (statuses == MPI_STATUSES_IGNORE && wait_for_all(count, requests)) return true;
  if (!any_channels(count, requests)) return counted.withdraw(), false;
  Report all;
  for (int i = 0; i < count; ++i) {
    Request* object = request_of(requests[i]);
    wait_for(object);
    all.add(i, &requests[i], object, at(statuses, i));
  }
  *code = all.result(call);
  return true;
}

bool waitany(const Call& call, int count, MPI_Request* requests, int* index, MPI_Status* status, int* code) {
  return complete_any(call, true, count, requests, requests, index, nullptr, status, code);
}

bool waitsome(const Call& call, int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses,
              int* code) {
  return complete_some(call, true, count, requests, requests, outcount, indices, statuses, code);
}

bool test(const Call& call, MPI_Request* request, int* flag, MPI_Status* status, int* code) {
  if (request == nullptr || flag == nullptr || !is_channels(request_of(*request))) return false;
  const Outside outside;
  Counted counted(call);
  *flag = test_for_all(1, request) ? 1 : 0;
  *code = *flag == 0 ? MPI_SUCCESS : result(call, report(request, request_of(*request), status));
  return true;
}

bool testall(const Call& call, int count, MPI_Request* requests, int* flag, MPI_Status* statuses, int* code) {
  if (flag == nullptr || !any_channels(count, requests)) return false;
  const Outside outside;
  Counted counted(call);
  *flag = test_for_all(count, requests) ? 1 : 0;
  Report all;
  for (int i = 0; *flag != 0 && i < count; ++i) all.add(i, &requests[i], request_of(requests[i]), at(statuses, i));
  *code = all.result(call);
  return true;
}

bool testany(const Call& call, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status, int* code) {
  return flag != nullptr && complete_any(call, false, count, requests, requests, index, flag, status, code);
}

bool testsome(const Call& call, int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses,
              int* code) {
  return complete_some(call, false, count, requests, requests, outcount, indices, statuses, code);
}

bool request_get_status(const Call& call, MPI_Request request, int* flag, MPI_Status* status, int* code) {
  if (flag == nullptr || !is_channels(request_of(request))) return false;
  const Outside outside;
  Counted counted(call);
  *flag = test_for_all(1, &request) ? 1 : 0;
  *code = *flag == 0 ? MPI_SUCCESS : result(call, report(nullptr, request_of(request), status));
  return true;
}

bool request_get_status_all(const Call& call, int count, const MPI_Request* requests, int* flag, MPI_Status* statuses,
                            int* code) {
  if (flag == nullptr || !any_channels(count, requests)) return false;
  const Outside outside;
  Counted counted(call);
  *flag = test_for_all(count, requests) ? 1 : 0;
  Outcome first;
  for (int i = 0; *flag != 0 && first.error.ok() && i < count; ++i)
    first = report(nullptr, request_of(requests[i]), at(statuses, i));
  *code = result(call, std::move(first));
  return true;
}

bool request_get_status_any(const Call& call, int count, const MPI_Request* requests, int* index, int* flag,
                            MPI_Status* status, int* code) {
  return flag != nullptr && complete_any(call, false, count, requests, nullptr, index, flag, status, code);
}

bool request_get_status_some(const Call& call, int count, const MPI_Request* requests, int* outcount, int* indices,
                             MPI_Status* statuses, int* code) {
  return complete_some(call, false, count, requests, nullptr, outcount, indices, statuses, code);
}

bool start(const Call& call, MPI_Request* request, int* code) {
  return request != nullptr && startall(call, 1, request, code);
}

bool startall(const Call& call, int count, MPI_Request* requests, int* code) {
  if (!any_channels(count, requests)) return false;
  const Outside outside;
  Counted counted(call);
  *code = MPI_SUCCESS;
  for (int i = 0; i < count; ++i) {
    Request* object = request_of(requests[i]);
    Outcome outcome;
    if (is_channels(object) && object->persistent() && !object->active()) {
      p2p::ChannelOperation& operation = *object->operation_;
      if (operation.buffered) {
        const LibraryGuard guard;
        outcome.error =
            impl::check_room(*static_cast<comm::Communicator*>(operation.user.communicator), operation.bytes);
      }
      if (outcome.error.ok()) outcome.error = operation.channel->start(*object);
      if (outcome.error.ok() && !object->is_receive_) counted.sends(operation.bytes);
      outcome.where = operation.user.communicator;
    } else {
      const LibraryGuard guard;
      outcome.error = impl::startall(1, &requests[i]);
    }
    if (outcome.error.ok()) continue;
    outcome.detail = take_detail();
    *code = result(call, std::move(outcome));
    return true;
  }
  return true;
}

bool cancel(const Call& call, MPI_Request* request, int* code) {
  if (request == nullptr) return false;
  Request* object = request_of(*request);
  if (!is_channels(object)) return false;
  const Outside outside;
  Counted counted(call);
  Outcome outcome;
  outcome.error = object->operation_->channel->cancel(*object);
  if (!outcome.error.ok()) outcome.detail = take_detail();
  outcome.where = object->operation_->user.communicator;
  *code = result(call, std::move(outcome));
  return true;
}

bool request_free(const Call& call, MPI_Request* request, int* code) {
  if (request == nullptr) return false;
  Request* object = request_of(*request);
  if (!is_channels(object)) return false;
  const Outside outside;
  Counted counted(call);
  object->operation_->channel->give_back(*object);
  *request = MPI_REQUEST_NULL;
  *code = MPI_SUCCESS;
  return true;
}

}  // namespace hr::bind::channel_calls
