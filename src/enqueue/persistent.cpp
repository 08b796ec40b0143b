// Persistent requests that a stream starts: point-to-point, partitioned, and collective ones.
#include <utility>

#include "enqueue/matched.hpp"
#include "enqueue/operation.hpp"
#include "p2p/partitioned.hpp"

namespace hr::enqueue {
namespace {

class Persistent final : public Operation {
 public:
  Persistent(comm::Communicator& comm, Stream& stream, p2p::Request& request)
      : Operation(comm, stream), request_(&request) {
    request.retain();
  }
  ~Persistent() override {
    if (request_ != nullptr) p2p::release_request(request_);
  }
  void forget() override {
    const auto started = state->persistent.find(request_);
    if (started != state->persistent.end() && started->second.last.get() == this) state->persistent.erase(started);
    p2p::release_request(std::exchange(request_, nullptr));
  }

  Status start(p2p::Request** inner) override {
    Started& started = state->persistent[request_];
    if (started.running) {
      return fail(Errc::kRequest, "the %s was started again before it was over: let the stream wait for it",
                  request_->state_->what());
    }
    if (started.pending == 0 && request_->active()) {
      return fail(Errc::kRequest, "a graph started the %s, which the program has started, too",
                  request_->state_->what());
    }
    request_->active_ = false;
    HR_TRY(request_->state_->start(*request_));
    started.running = true;
    *inner = request_;
    return kOk;
  }

  // The program's request is active from the call until the last start that it has enqueued is complete.
  void drop(p2p::Request* inner) override {
    Started& started = state->persistent[request_];
    if (inner != nullptr) started.running = false;
    if (!captured()) --started.pending;
    // Another operation, or the program, has started the request.
    if (started.running || (captured() && inner == nullptr)) return;
    if (started.pending > 0) {
      request_->begin();
      request_->active_ = true;
      return;
    }
    request_->active_ = !captured() && inner != nullptr && !waited_;
    if (started.last.get() == this && !captured()) started.last = nullptr;
  }

  [[nodiscard]] const p2p::Request* request() const override { return request_; }
  [[nodiscard]] std::string what() const override { return request_->state_->what(); }

  p2p::Request* request_;
};

Status check(const p2p::Request& request, std::size_t index, CaptureId capture) {
  if (!request.persistent() || request.state_ == nullptr) {
    return fail(Errc::kRequest, "array_of_requests[%zu] is not persistent: only such requests can be started", index);
  }
  const auto started = state->persistent.find(const_cast<p2p::Request*>(&request));
  // A stream may start a request again only after it has waited for the previous start, whether or not the host has
  // seen the end of that start.
  const bool by_stream = started != state->persistent.end() && (started->second.pending > 0 || started->second.running);
  if (request.active() && !by_stream) {
    return fail(Errc::kRequest, "array_of_requests[%zu] is active: complete it before a stream starts it", index);
  }
  // Afterwards, waits would belong to the start in the capture.
  if (capture != 0 && by_stream && started->second.last != nullptr && !started->second.last->captured() &&
      !started->second.last->waited_) {
    return fail(Errc::kRequest,
                "array_of_requests[%zu] was started before the capture: let the stream wait for it before the capture "
                "(the capture is still valid)",
                index);
  }
  return kOk;
}

Status start_ordinary(std::span<p2p::Request* const> requests, Attached& attached, CaptureId capture) {
  const bool captured = capture != 0;
  std::vector<OperationPointer> operations;
  std::vector<Started> before;
  for (p2p::Request* const each : requests) {
    each->state_->become_independent();
    auto made = std::make_shared<Persistent>(attached.comm_, *attached.stream_, *each);
    made->waits_to_begin_ = p2p::is_partitioned(*each);
    Started& started = state->persistent[each];
    before.push_back(started);
    started.last = made;
    started.stream = attached.stream_;
    started.capture = capture;
    operations.push_back(std::move(made));
    if (captured) continue;  // a request of a graph is active only while its operation runs
    ++started.pending;
    if (each->active()) continue;
    each->begin();
    each->active_ = true;
  }
  const Status status = append(attached, operations, false, capture);
  if (status.ok()) return kOk;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Started& started = state->persistent[requests[i]];
    if (!captured && --started.pending == 0) requests[i]->active_ = false;
    const bool over = before[i].last == nullptr || before[i].last->done_;
    started.last = over ? nullptr : before[i].last;
    started.stream = before[i].stream;
    started.capture = before[i].capture;
  }
  return status;
}

// The requests of a call, sorted by how they are started.
struct Sorted {
  Status sort(std::span<p2p::Request* const> all, comm::Communicator& comm) {
    HR_TRY(attached_to(comm, &attached));
    if (!all.empty()) HR_TRY(check_capture(*attached->stream_, &capture));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_matched = matched_of(*all[i]) != nullptr;
      if (!is_matched) HR_TRY(check(*all[i], i, capture));
      (is_matched ? matched : ordinary).push_back(all[i]);
    }
    return kOk;
  }
  // Operations in which the stream may wait come last.
  Status start(bool* waited) {
    if (!ordinary.empty()) HR_TRY(start_ordinary(ordinary, *attached, capture));
    return matched.empty() ? kOk : start_matched(matched, *attached, capture, waited);
  }

  Attached* attached = nullptr;
  std::vector<p2p::Request*> ordinary, matched;
  CaptureId capture = 0;
};

}  // namespace

Status start_all(std::span<p2p::Request* const> all, comm::Communicator& comm) {
  Sorted sorted;
  HR_TRY(sorted.sort(all, comm));
  return sorted.start(nullptr);
}

Status run_all(std::span<p2p::Request* const> all, comm::Communicator& comm) {
  Sorted sorted;
  HR_TRY(sorted.sort(all, comm));
  bool waited = false;
  HR_TRY(sorted.start(&waited));
  std::vector<Waiting> rest;
  for (p2p::Request* const each : waited ? std::span<p2p::Request* const>(sorted.ordinary) : all)
    rest.push_back({each, {}, false});
  HR_TRY(wait_together(rest));
  for (const Waiting& each : rest) {
    if (!each.done) HR_TRY(wait(*each.request, {}));
  }
  return kOk;
}

}  // namespace hr::enqueue
