// Persistent requests that a stream starts: point-to-point, partitioned, and collective ones.
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
  ~Persistent() override { p2p::release_request(request_); }

  Status start(p2p::Request** inner) override {
    if (captured_ && request_->active()) {
      return fail(Errc::kRequest, "a graph started the %s, which is under way already", request_->state_->what());
    }
    request_->active_ = false;
    HR_TRY(request_->state_->start(*request_));
    *inner = request_;
    return kOk;
  }

  // The program's request is active from the call until the last start that it has enqueued is over.
  void drop(p2p::Request* inner) override {
    if (captured_) {
      if (inner != nullptr) request_->active_ = false;
      return;
    }
    const auto found = state->persistent.find(request_);
    const bool last = found == state->persistent.end() || --found->second.pending == 0;
    if (!last) {
      request_->begin();
      request_->active_ = true;
      return;
    }
    if (found != state->persistent.end()) state->persistent.erase(found);
    request_->active_ = inner != nullptr && !waited_;
  }

  [[nodiscard]] std::string what() const override { return request_->state_->what(); }

  p2p::Request* request_;
};

Status check(const p2p::Request& request, std::size_t index) {
  if (!request.persistent() || request.state_ == nullptr) {
    return fail(Errc::kRequest, "array_of_requests[%zu] is not persistent: only such requests can be started", index);
  }
  if (request.active() && !state->persistent.contains(const_cast<p2p::Request*>(&request))) {
    return fail(Errc::kRequest, "array_of_requests[%zu] is active: complete it before a stream starts it", index);
  }
  return kOk;
}

}  // namespace

Status start_all(std::span<p2p::Request* const> requests, comm::Communicator& comm) {
  Attached* attached = nullptr;
  HR_TRY(attached_to(comm, &attached));
  for (std::size_t i = 0; i < requests.size(); ++i) HR_TRY(check(*requests[i], i));
  if (requests.empty()) return kOk;
  std::vector<OperationPointer> operations;
  for (p2p::Request* const each : requests) {
    each->state_->become_independent();
    auto made = std::make_shared<Persistent>(comm, *attached->stream_, *each);
    made->waits_to_begin_ = p2p::is_partitioned(*each);
    Started& started = state->persistent[each];
    started.last = made;
    ++started.pending;
    if (!each->active()) {
      each->begin();
      each->active_ = true;
    }
    operations.push_back(std::move(made));
  }
  const Status status = append(*attached, operations, false);
  if (status.ok() && !operations.front()->captured_) return kOk;
  // Requests of a graph are active only while it runs.
  for (const OperationPointer& each : operations) {
    p2p::Request* const request = static_cast<Persistent&>(*each).request_;
    Started& started = state->persistent[request];
    if (--started.pending == 0) request->active_ = false;
    if (!status.ok()) state->persistent.erase(request);
  }
  return status;
}

}  // namespace hr::enqueue
