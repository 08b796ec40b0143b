// Waits of a stream for enqueued operations, and of the program for all of them.
#include <algorithm>

#include "base/log.hpp"
#include "enqueue/operation.hpp"
#include "p2p/progress.hpp"

namespace hr::enqueue {
namespace {

void report(const StatusSink& sink, const p2p::Completion& completion) {
  if (sink.report != nullptr) sink.report(sink.status, completion);
}

// True if the program has destroyed the context of the communicator's stream, which then never comes to an operation.
bool is_gone(const Attached& attached) {
  return attached.stream_->has_device() && attached.stream_->device_.context() == nullptr;
}

// True if a stream has come to an operation of a graph, which is not over. The stream may not wait for it.
bool any_launched(const Attached& attached) {
  return std::ranges::any_of(attached.captured_, [](const OperationPointer& first) {
    return first->place_.reached() || first->running_ ||
           std::ranges::any_of(first->others_, [](const OperationPointer& each) { return each->running_; });
  });
}

Status finish(Attached& attached) {
  HR_TRY(p2p::wait_until([&] { return (attached.unfinished_ == 0 && !any_launched(attached)) || is_gone(attached); }));
  return attached.take_error();
}

}  // namespace

Status wait(p2p::Request& request, StatusSink sink) {
  const Served served = served_for(request);
  const OperationPointer& operation = served.operation;
  // First, so that the answer does not depend on whether the operation is over.
  if (served.stream != nullptr) {
    const std::string what = operation == nullptr ? request.state_->what() : operation->what();
    HR_TRY(check_wait(*served.stream, served.captured, what.c_str()));
  }
  if (operation == nullptr || operation->done_) {
    const bool inactive = request.persistent() && !request.active();
    if (!served.made_here && !inactive && !(request.persistent() && request.complete())) {
      return fail(Errc::kRequest, "the request was not enqueued in a stream: complete it with MPI_Wait");
    }
    report(sink, inactive ? p2p::Completion{} : request.completion_);
    if (request.persistent()) request.active_ = false;
    return kOk;
  }
  const StatusSink before = operation->sink_;
  if (sink.report != nullptr) operation->sink_ = sink;
  const Status status = append_wait(operation);
  if (!status.ok()) operation->sink_ = before;
  return status;
}

bool wait_releases(const p2p::Request& request) noexcept { return !request.persistent(); }

Status finish(comm::Communicator& comm) {
  return comm.stream_ == nullptr ? kOk : finish(static_cast<Attached&>(*comm.stream_));
}

void finish_all() {
  if (state == nullptr) return;
  for (std::size_t i = 0; i < state->communicators.size(); ++i) {
    if (finish(*state->communicators[i]).ok()) continue;
    log::write(log::Level::kError, "%s; no call has returned this error", take_detail().c_str());
  }
}

}  // namespace hr::enqueue
