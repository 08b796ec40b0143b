// Waits of a stream for enqueued operations, and of the program for all of them.
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

Status finish(Attached& attached) {
  HR_TRY(p2p::wait_until([&] { return attached.unfinished_ == 0 || is_gone(attached); }));
  return attached.take_error();
}

}  // namespace

Status wait(p2p::Request& request, StatusSink sink) {
  bool known = false;
  const OperationPointer operation = operation_of(request, &known);
  if (operation == nullptr || operation->done_) {
    const bool over = known || (request.persistent() && request.active() && request.complete());
    if (!over && !(request.persistent() && operation != nullptr)) {
      return fail(Errc::kRequest, "the request was not enqueued in a stream: complete it with MPI_Wait");
    }
    report(sink, request.completion_);
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

Status finish_all() {
  if (state == nullptr) return kOk;
  Status first = kOk;
  for (std::size_t i = 0; i < state->communicators.size(); ++i) {
    const Status status = finish(*state->communicators[i]);
    if (first.ok()) first = status;
  }
  return first;
}

}  // namespace hr::enqueue
