// Enqueued messages and collective operations.
#include <utility>

#include "enqueue/operation.hpp"
#include "mem/independent.hpp"
#include "mem/recall.hpp"
#include "p2p/process_failure.hpp"

namespace hr::enqueue {
namespace {

using layout::Datatype;
using layout::View;

Status look_at(const void* buffer, Count count, const Datatype& type, View* view) {
  const mem::IndependentScope scope;
  return layout::make_view(buffer, count, type, view);
}

// Calls look() to inspect buffers for the first time. Descriptions may come from a cache; after an error with a cached
// one, calls look() again without the cache. *recalled: true if a cached description was used, which may be out of
// date.
template <class Look>
Status first_look(bool* recalled, const Look& look) {
  {
    const mem::RecallScope scope;
    const Status status = look();
    *recalled = scope.used();
    if (status.ok() || !*recalled) return status;
  }
  static_cast<void>(take_detail());
  *recalled = false;
  return look();
}

// A buffer that is checked for errors in the call, and classified again at each start, because the program may have
// freed it in between.
class Buffer {
 public:
  Buffer(const void* address, Count count, Datatype& type)
      : address_(address), count_(count), type_(Ref<Datatype>::share(&type)) {}

  Status check() {
    View view;
    HR_TRY(first_look(&recalled_, [&] { return look_at(address_, count_, *type_, &view); }));
    allocation_ = view.where.id;
    return kOk;
  }
  Status look(View* view) const {
    HR_TRY(look_at(address_, count_, *type_, view));
    if (view->where.id == allocation_ || (recalled_ && view->where.id != 0)) return kOk;
    return fail(Errc::kBuffer, "the buffer %p was freed after the operation was enqueued", address_);
  }

 private:
  const void* address_;
  Count count_;
  Ref<Datatype> type_;
  std::uint64_t allocation_ = 0;  // the driver's number; 0: none
  bool recalled_ = false;         // allocation_ may be that of an earlier allocation at the same address
};

std::string peer_text(const char* what, const char* direction, int rank, int tag) {
  return std::string(what) + (rank == abi::kAnySource ? " from any rank" : direction + std::to_string(rank)) +
         (tag == abi::kAnyTag ? " with any tag" : " with tag " + std::to_string(tag));
}

Status nothing_to_do(p2p::Request** inner, int source) {
  p2p::Completion completion;
  completion.source = source;
  *inner = p2p::completed_request(completion);
  return *inner != nullptr ? kOk : fail(Errc::kNoMem, "no memory for another request: complete or free some first");
}

class Send final : public Operation {
 public:
  Send(comm::Communicator& comm, Stream& stream, const void* address, Count count, Datatype& type, int to, int tag)
      : Operation(comm, stream), buffer_(address, count, type), to_(to), tag_(tag) {}
  Status check() { return buffer_.check(); }
  Status start(p2p::Request** inner) override {
    if (to_ == abi::kProcNull) return nothing_to_do(inner, abi::kAnySource);
    View view;
    HR_TRY(buffer_.look(&view));
    return p2p::isend(view, comm_->peer_proc(to_), {comm_->context(), comm_->rank(), tag_}, p2p::Mode::kStandard,
                      inner);
  }
  [[nodiscard]] std::string what() const override { return peer_text("send", " to rank ", to_, tag_); }

 private:
  Buffer buffer_;
  int to_;
  int tag_;
};

class Receive final : public Operation {
 public:
  Receive(comm::Communicator& comm, Stream& stream, void* address, Count count, Datatype& type, int from, int tag)
      : Operation(comm, stream), buffer_(address, count, type), from_(from), tag_(tag) {}
  Status check() { return buffer_.check(); }
  Status start(p2p::Request** inner) override {
    if (from_ == abi::kProcNull) return nothing_to_do(inner, abi::kProcNull);
    View view;
    HR_TRY(buffer_.look(&view));
    const p2p::Envelope wanted{comm_->context(), from_, tag_};
    return view.is_unknown_to_driver()
               ? p2p::ireceive_contiguous(view.address, view.count, *view.type, view.packed, wanted, inner)
               : p2p::ireceive(view, wanted, inner);
  }
  // A receive from any source stays posted when a process fails; the stream does not wait for another sender.
  void drop(p2p::Request* inner) override {
    if (inner != nullptr && p2p::is_interrupted(*inner)) static_cast<void>(p2p::cancel(*inner));
    Operation::drop(inner);
  }
  [[nodiscard]] std::string what() const override { return peer_text("receive", " from rank ", from_, tag_); }

 private:
  Buffer buffer_;
  int from_;
  int tag_;
};

class Allreduce final : public Operation {
 public:
  Allreduce(comm::Communicator& comm, Stream& stream, const void* send, void* receive, Count count, Datatype& type,
            layout::Op& op)
      : Operation(comm, stream),
        send_(send),
        receive_(receive),
        count_(count),
        type_(Ref<Datatype>::share(&type)),
        op_(Ref<layout::Op>::share(&op)) {}
  Status check() {
    bool recalled = false;
    return first_look(&recalled, [&] {
      coll::Call call;
      return describe(call);
    });
  }
  Status start(p2p::Request** inner) override {
    coll::Call call;
    HR_TRY(describe(call));
    call.become_independent();
    return coll::start(call, inner);
  }
  [[nodiscard]] std::string what() const override { return "allreduce"; }

 private:
  Status describe(coll::Call& call) {
    const mem::IndependentScope scope;
    return coll::allreduce(call, send_, receive_, count_, *type_, *op_, *comm_);
  }

  const void* send_;
  void* receive_;
  Count count_;
  Ref<Datatype> type_;
  Ref<layout::Op> op_;
};

// Enqueues an operation; if `request` is null, the stream waits for it.
template <class Made>
Status enqueue(Attached& attached, const std::shared_ptr<Made>& operation, p2p::Request** request) {
  CaptureId capture = 0;
  HR_TRY(operation->check());
  HR_TRY(check_capture(*attached.stream_, &capture));
  if (request != nullptr) HR_TRY(make_request(operation, request));
  const OperationPointer only[] = {operation};
  const Status status = append(attached, only, request == nullptr, capture);
  if (request != nullptr && (!status.ok() || capture != 0)) {
    p2p::Request* const program = *request;
    // A graph starts the operation on each launch, so no request completes with it.
    program->active_ = false;
    if (operation->outer_ != nullptr) p2p::release_request(std::exchange(operation->outer_, nullptr));
    if (!status.ok()) p2p::release_request(std::exchange(*request, nullptr));
  }
  return status;
}

}  // namespace

Status send(const void* buffer, Count count, Datatype& type, int to, int tag, comm::Communicator& comm,
            p2p::Request** request) {
  Attached* attached = nullptr;
  HR_TRY(attached_to(comm, &attached));
  return enqueue(*attached, std::make_shared<Send>(comm, *attached->stream_, buffer, count, type, to, tag), request);
}

Status receive(void* buffer, Count count, Datatype& type, int from, int tag, comm::Communicator& comm, StatusSink sink,
               p2p::Request** request) {
  Attached* attached = nullptr;
  HR_TRY(attached_to(comm, &attached));
  auto made = std::make_shared<Receive>(comm, *attached->stream_, buffer, count, type, from, tag);
  made->sink_ = sink;
  return enqueue(*attached, made, request);
}

Status allreduce(const void* send, void* receive, Count count, Datatype& type, layout::Op& op,
                 comm::Communicator& comm) {
  Attached* attached = nullptr;
  HR_TRY(attached_to(comm, &attached));
  return enqueue(*attached, std::make_shared<Allreduce>(comm, *attached->stream_, send, receive, count, type, op),
                 nullptr);
}

}  // namespace hr::enqueue
