// Combined send and receive (MPI 5.0 sections 3.2.7, 3.7.2).
#include <memory>

#include "bind/impl.hpp"
#include "bind/impl/request_support.hpp"
#include "bind/status.hpp"
#include "layout/op.hpp"
#include "p2p/p2p.hpp"
#include "p2p/progress.hpp"

namespace hr::bind::impl {
namespace {

// Cancels the receive of a pair whose send has failed: if the peer's send has failed, too, the peer's message never
// arrives.
void give_up_after(const p2p::Request& send, p2p::Request& receive) {
  // No effect if the receive is already matched, in which case it will complete.
  if (!send.completion_.error.ok() && !receive.complete()) (void)p2p::cancel(receive);
}

// One send and one receive as one request; its completion is the receive's. Owned by its Request until complete.
class PairState final : public p2p::RequestState {
 public:
  static Status start(p2p::Request* send, p2p::Request* receive, std::unique_ptr<std::byte[]> copy,
                      comm::Communicator& comm, p2p::Request*& out) {
    p2p::Request* request = Arena<p2p::Request>::instance().create();
    if (request == nullptr) return fail(Errc::kNoMem, "no memory for another request");
    auto state = std::make_unique<PairState>();
    state->send_ = send;
    state->receive_ = receive;
    state->copy_ = std::move(copy);
    state->owner_ = request;
    p2p::add_hook(&PairState::advance, state.get());
    request->state_ = std::move(state);
    request->retain();  // until complete
    keep_communicator(*request, comm);
    out = request;
    return kOk;
  }
  [[nodiscard]] const char* what() const noexcept override { return "combined send and receive"; }
  bool end_if_left(bool blocked) override {
    const bool sends = p2p::end_if_others_left(*send_, blocked);
    return p2p::end_if_others_left(*receive_, blocked) || sends;
  }

 private:
  static bool advance(void* argument) {
    auto& self = *static_cast<PairState*>(argument);
    if (!self.send_->complete()) return false;
    give_up_after(*self.send_, *self.receive_);
    if (!self.receive_->complete()) return false;
    p2p::remove_hook(&PairState::advance, argument);
    p2p::Completion completion = self.receive_->completion_;
    if (!completion.error.ok()) {
      set_detail(self.receive_->detail());
    } else if (!self.send_->completion_.error.ok()) {
      completion.error = self.send_->completion_.error;
      set_detail(self.send_->detail());
    }
    release(self.send_);
    release(self.receive_);
    p2p::Request* owner = self.owner_;
    owner->finish(completion);
    release(owner);  // may destroy self
    return true;
  }

  p2p::Request* send_ = nullptr;
  p2p::Request* receive_ = nullptr;
  p2p::Request* owner_ = nullptr;
  std::unique_ptr<std::byte[]> copy_;
};

// Starts both operations. With MPI_PROC_NULL, the request is complete at once.
Status start_both(const layout::View& outgoing, int dest, int sendtag, const layout::View& incoming, int source,
                  int recvtag, comm::Communicator& comm, p2p::Request** send, p2p::Request** receive) {
  p2p::Completion nobody;
  nobody.source = abi::kProcNull;
  if (source == abi::kProcNull) {
    HR_TRY(done_already(nobody, *receive));
  } else {
    HR_TRY(p2p::ireceive(incoming, {comm.context(), source, recvtag}, receive));
  }
  if (dest == abi::kProcNull) return done_already(p2p::Completion{}, *send);
  return p2p::isend(outgoing, comm.peer_proc(dest), {comm.context(), comm.rank(), sendtag}, p2p::Mode::kStandard, send);
}

Status finish_both(p2p::Request* send, p2p::Request* receive, MPI_Status* status) {
  HR_TRY(p2p::wait(*send));
  give_up_after(*send, *receive);
  HR_TRY(p2p::wait(*receive));
  fill_status(status, receive->completion_);
  Status error = receive->completion_.error;
  if (!error.ok()) {
    set_detail(receive->detail());
  } else if (!send->completion_.error.ok()) {
    error = send->completion_.error;
    set_detail(send->detail());
  }
  release(send);
  release(receive);
  return error;
}

// Copies the packed data, and describes the copy as a view of bytes.
Status copy_out(const layout::View& data, std::unique_ptr<std::byte[]>* copy, layout::View* view) {
  *copy = std::make_unique_for_overwrite<std::byte[]>(data.packed + 1);
  if (data.packed != 0) HR_TRY(layout::pack(data, 0, data.packed, copy->get()));
  return layout::make_view(copy->get(), static_cast<Count>(data.packed), *layout::predefined_type(abi::kByte), view);
}

// A send and a receive that have been started; `copy`: the data to send, if the receive replaces it.
struct Pair {
  p2p::Request* send = nullptr;
  p2p::Request* receive = nullptr;
  std::unique_ptr<std::byte[]> copy;

  Status start(const void* sendbuf, Count sendcount, const layout::Datatype& sendtype, int dest, int sendtag,
               void* recvbuf, Count recvcount, const layout::Datatype& recvtype, int source, int recvtag,
               comm::Communicator& comm, bool replaces) {
    layout::View out, in, packed;
    if (dest != abi::kProcNull) HR_TRY(layout::make_view(sendbuf, sendcount, sendtype, &out));
    if (source != abi::kProcNull) HR_TRY(layout::make_view(recvbuf, recvcount, recvtype, &in));
    if (replaces && dest != abi::kProcNull) HR_TRY(copy_out(out, &copy, &packed));
    return start_both(replaces ? packed : out, dest, sendtag, in, source, recvtag, comm, &send, &receive);
  }
};

}  // namespace

Status sendrecv(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, int dest, int sendtag, void* recvbuf,
                Count recvcount, layout::Datatype& recvtype, int source, int recvtag, comm::Communicator& comm,
                MPI_Status* status) {
  Pair pair;
  HR_TRY(pair.start(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                    false));
  return finish_both(pair.send, pair.receive, status);
}

Status sendrecv_replace(void* buf, Count count, layout::Datatype& datatype, int dest, int sendtag, int source,
                        int recvtag, comm::Communicator& comm, MPI_Status* status) {
  Pair pair;
  HR_TRY(pair.start(buf, count, datatype, dest, sendtag, buf, count, datatype, source, recvtag, comm, true));
  return finish_both(pair.send, pair.receive, status);
}

Status isendrecv(const void* sendbuf, Count sendcount, layout::Datatype& sendtype, int dest, int sendtag, void* recvbuf,
                 Count recvcount, layout::Datatype& recvtype, int source, int recvtag, comm::Communicator& comm,
                 p2p::Request*& request) {
  Pair pair;
  HR_TRY(pair.start(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm,
                    false));
  return PairState::start(pair.send, pair.receive, nullptr, comm, request);
}

Status isendrecv_replace(void* buf, Count count, layout::Datatype& datatype, int dest, int sendtag, int source,
                         int recvtag, comm::Communicator& comm, p2p::Request*& request) {
  Pair pair;
  HR_TRY(pair.start(buf, count, datatype, dest, sendtag, buf, count, datatype, source, recvtag, comm, true));
  return PairState::start(pair.send, pair.receive, std::move(pair.copy), comm, request);
}

}  // namespace hr::bind::impl
