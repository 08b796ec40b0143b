// A stream's waits for enqueued operations, and the program's wait for all of them.
#include <algorithm>
#include <limits>
#include <utility>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "enqueue/matched.hpp"
#include "enqueue/operation.hpp"
#include "p2p/p2p.hpp"
#include "p2p/progress.hpp"

namespace hr::enqueue {
namespace {

void report(const StatusSink& sink, const p2p::Completion& completion) {
  if (sink.report != nullptr) sink.report(sink.status, completion);
}

// True if the program has destroyed the context of the communicator's stream, which then never reaches an operation.
bool is_gone(const Attached& attached) {
  return attached.stream_->has_device() && attached.stream_->device_.context() == nullptr;
}

// True if the communicator's stream has unfinished work that is not being captured.
bool is_busy(const Attached& attached) {
  auto capture = mem::device::ProgramStream::Capture::kNone;
  const mem::device::ProgramStream& device = attached.stream_->device_;
  return device.capture(&capture).ok() && capture == mem::device::ProgramStream::Capture::kNone && !device.idle();
}

// True if a graph with operations may still run: the communicator's stream has not done all its work, or some stream
// has reached an incomplete operation, for which it need not be waiting.
bool any_launched(const Attached& attached) {
  if (attached.captured_.empty()) return false;
  if (is_busy(attached)) return true;
  return std::ranges::any_of(attached.captured_, [](const OperationPointer& first) {
    return first->place_.reached() || first->running_ ||
           std::ranges::any_of(first->others_, [](const OperationPointer& each) { return each->running_; });
  });
}

// True if the stream may have unfinished work of matched requests, whose completion the library does not see.
bool any_matched(Attached& attached) {
  if (!attached.matched_) return false;
  attached.matched_ = is_busy(attached);
  return attached.matched_;
}

// Time between two looks for messages that nothing can match any more.
constexpr double kLookSeconds = 0.01;

// Ends the communicator's messages that nothing can match any more. Call it between two rounds of progress.
void end_unmatched(const Attached& attached) {
  const std::vector<OperationPointer> running = state->running;  // messages are delivered meanwhile
  for (const OperationPointer& each : running) {
    if (each->comm_ == &attached.comm_ && each->inner_ != nullptr) p2p::end_if_others_left(*each->inner_);
  }
}

Status finish(Attached& attached) {
  double silent_until = now_seconds() + knobs().check_wait_seconds;
  double next_look = 0;
  HR_TRY(p2p::wait_until([&] {
    if (is_gone(attached) || (attached.unfinished_ == 0 && !any_launched(attached) && !any_matched(attached)))
      return true;
    const double now = now_seconds();
    if (now > next_look) {
      next_look = now + kLookSeconds;
      end_unmatched(attached);
    }
    if (now > silent_until && knobs().check_wait_seconds > 0) {
      // Once: the other process may still compute.
      silent_until = std::numeric_limits<double>::infinity();
      report_waits_of(attached, "; MPI_Comm_free and MPI_Finalize wait for that");
    }
    return false;
  }));
  return attached.take_error();
}

// Waits that one stream can be given together.
struct Pending {
  // Switches to another stream, or between operations in a capture and outside it. Checks the stream's state once,
  // and appends the waits collected so far.
  template <class Text>
  Status expect(Stream& other, CaptureId enqueued_in, const Text& text) {
    if (stream == &other && capture == enqueued_in) return kOk;
    HR_TRY(check_wait(other, enqueued_in, text().c_str()));
    HR_TRY(append());
    stream = &other;
    capture = enqueued_in;
    return kOk;
  }
  Status append() {
    if (!operations.empty()) HR_TRY(append_operations());
    if (!matched.empty()) HR_TRY(wait_matched(*stream, matched));
    operations.clear();
    waiting.clear();
    matched.clear();
    return kOk;
  }

  Stream* stream = nullptr;
  CaptureId capture = 0;
  std::vector<OperationPointer> operations;
  std::vector<Waiting*> waiting;  // for the operations
  std::vector<Waiting*> matched;

 private:
  Status append_operations() {
    std::vector<StatusSink> before;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      before.push_back(operations[i]->sink_);
      if (waiting[i]->sink.report != nullptr) operations[i]->sink_ = waiting[i]->sink;
    }
    const Status status = append_waits(*stream, operations);
    for (std::size_t i = 0; i < operations.size(); ++i) {
      if (!status.ok()) operations[i]->sink_ = before[i];
      waiting[i]->done = status.ok();
    }
    return status;
  }
};

}  // namespace

Status wait(p2p::Request& request, StatusSink sink) {
  Waiting one[] = {{&request, sink}};
  HR_TRY(wait_together(one));
  if (one[0].done) return kOk;
  const Served served = served_for(request);
  // This check comes first, so that the result does not depend on whether the operation is complete.
  if (served.stream != nullptr) {
    const std::string what = served.operation == nullptr ? request.state_->what() : served.operation->what();
    HR_TRY(check_wait(*served.stream, served.capture, what.c_str()));
  }
  const bool inactive = request.persistent() && !request.active();
  if (!served.made_here && !inactive && !(request.persistent() && request.complete())) {
    return fail(Errc::kRequest, "the request was not enqueued in a stream: complete it with MPI_Wait");
  }
  report(sink, inactive ? p2p::Completion{} : request.completion_);
  if (request.persistent()) request.active_ = false;
  return kOk;
}

Status wait_together(std::span<Waiting> all) {
  Pending pending;
  for (Waiting& each : all) {
    if (const Matched* const matched = matched_of(*each.request); matched != nullptr) {
      if (!matched->started_) continue;
      HR_TRY(pending.expect(*matched->stream_, matched->capture_, [&] { return matched->text(); }));
      pending.matched.push_back(&each);
      continue;
    }
    const Served served = served_for(*each.request);
    if (served.operation == nullptr || served.operation->done_) continue;
    HR_TRY(pending.expect(*served.stream, served.capture, [&] { return served.operation->what(); }));
    pending.waiting.push_back(&each);
    pending.operations.push_back(served.operation);
  }
  return pending.append();
}

bool wait_releases(const p2p::Request& request) noexcept { return !request.persistent(); }

Status finish(comm::Communicator& comm) {
  if (comm.stream_ == nullptr) return kOk;
  auto& attached = static_cast<Attached&>(*comm.stream_);
  HR_TRY(finish(attached));
  attached.freed_ = true;
  attached.leave_graphs();
  close_idle_buffers();
  return kOk;
}

Status finish_all(Ref<comm::Communicator>* failed) {
  Status first = kOk;
  std::string why;
  if (state == nullptr) return first;
  for (std::size_t i = 0; i < state->communicators.size(); ++i) {
    const auto comm = Ref<comm::Communicator>::share(&state->communicators[i]->comm_);
    const Status status = finish(*state->communicators[i]);
    if (status.ok()) continue;
    if (!first.ok()) {
      log::write(log::Level::kError, "%s; no call returns this error", take_detail().c_str());
      continue;
    }
    first = status;
    *failed = comm;
    why = take_detail();
  }
  if (!first.ok()) set_detail(std::move(why));
  return first;
}

}  // namespace hr::enqueue
