// Persistent point-to-point requests (MPI 5.0 section 3.9): keep the arguments, and start the operation with them each
// time, on the same Request.
#include "p2p/core/steps.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {
namespace {

class PersistentState final : public RequestState {
 public:
  PersistentState(const layout::View& data, const Envelope& envelope, int proc, bool is_receive, Mode mode)
      : data_(data),
        type_(Ref<layout::Datatype>::share(const_cast<layout::Datatype*>(data.type))),
        envelope_(envelope),
        proc_(proc),
        is_receive_(is_receive),
        mode_(mode) {}

  Status start(Request& request) override {
    Peer* peer = nullptr;
    const Status connected = is_receive_ ? kOk : connected_peer(proc_, &peer);
    // A revocation takes precedence over the failure of the process.
    if (any_failures()) [[unlikely]]
      HR_TRY(may_send(envelope_.context));
    HR_TRY(connected);
    request.begin();
    request.active_ = true;
    request.completion_ = {};
    request.detail_.clear();
    request.view_ = data_;
    request.type_ = type_;
    request.source_ = envelope_.source;
    request.offset_ = request.total_ = 0;
    request.synchronous_ = mode_ == Mode::kSynchronous;
    request.retain();
    request.engine_reference_ = true;
    if (is_receive_) {
      start_receive(request);
    } else {
      start_send(*peer, request);
    }
    return kOk;
  }

  Status cancel(Request& request) override { return cancel_message(request); }

  void become_independent() override { data_.where.independent = true; }

  [[nodiscard]] const char* what() const noexcept override {
    return is_receive_ ? "persistent receive" : "persistent send";
  }

 private:
  layout::View data_;
  Ref<layout::Datatype> type_;
  Envelope envelope_;
  int proc_;
  bool is_receive_;
  Mode mode_;
};

Status make(const layout::View& data, const Envelope& envelope, int proc, bool is_receive, Mode mode, Request** out) {
  Request* request = make_request(data, is_receive, envelope, proc);
  if (request == nullptr)
    return fail(Errc::kNoMem, "no memory for another request (%zu are live)", Arena<Request>::instance().live());
  request->persistent_ = true;
  request->active_ = false;
  request->synchronous_ = mode == Mode::kSynchronous;
  request->state_ = std::make_unique<PersistentState>(data, envelope, proc, is_receive, mode);
  *out = request;
  return kOk;
}

}  // namespace

Status send_init(const layout::View& data, int to_proc, const Envelope& envelope, Mode mode, Request** request) {
  return make(data, envelope, to_proc, false, mode, request);
}

Status receive_init(const layout::View& data, const Envelope& wanted, Request** request) {
  return make(data, wanted, -1, true, Mode::kStandard, request);
}

}  // namespace hr::p2p
