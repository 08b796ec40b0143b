// Point-to-point entry points (MPI 5.0 chapter 3): ranks become processes, buffers become views, and MPI_PROC_NULL is
// handled here.
#include "p2p/p2p.hpp"

#include "bind/impl.hpp"
#include "bind/impl/request_support.hpp"
#include "bind/raise.hpp"
#include "bind/status.hpp"
#include "mem/independent.hpp"
#include "p2p/buffered.hpp"
#include "p2p/turns.hpp"

namespace hr::bind::impl {
namespace {

// Returns the completion of a receive from MPI_PROC_NULL (section 3.10).
p2p::Completion from_nobody() {
  p2p::Completion completion;
  completion.source = abi::kProcNull;
  return completion;
}

p2p::Envelope outgoing(const comm::Communicator& comm, int tag) { return {comm.context(), comm.rank(), tag}; }
p2p::Envelope incoming(const comm::Communicator& comm, int source, int tag) { return {comm.context(), source, tag}; }

// Sends contiguous host memory immediately; returns Status::again() for other data, or if there is no space.
inline Status send_at_once(const void* buf, Count count, const layout::Datatype& datatype, int dest, int tag,
                           const comm::Communicator& comm) {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  if (dest == abi::kProcNull || !layout::find_contiguous_without_driver(buf, count, datatype, &data, &bytes))
      [[unlikely]]
    return Status::again();
  return p2p::send_plain(data, bytes, comm.peer_proc(dest), outgoing(comm, tag));
}

// Creates the view of a message on a communicator with a stream: the message follows the work of that stream, and of
// no other.
[[gnu::cold, gnu::noinline]] Status view_after_stream(const void* buf, Count count, const layout::Datatype& datatype,
                                                      comm::Communicator& comm, layout::View* view) {
  HR_TRY(comm.stream_->synchronize());
  const mem::IndependentScope scope;
  return layout::make_view(buf, count, datatype, view);
}

// Creates the view of a message that is not contiguous host memory in a process without devices.
inline Status view_on(const void* buf, Count count, const layout::Datatype& datatype, comm::Communicator& comm,
                      layout::View* view) {
  if (comm.stream_ != nullptr) [[unlikely]]
    return view_after_stream(buf, count, datatype, comm, view);
  return layout::make_view(buf, count, datatype, view);
}

Status send_blocking(const void* buf, Count count, const layout::Datatype& datatype, int dest, int tag,
                     comm::Communicator& comm, p2p::Mode mode) {
  if (dest == abi::kProcNull) [[unlikely]] {
    p2p::take_turn();
    return kOk;
  }
  layout::View view;
  HR_TRY(view_on(buf, count, datatype, comm, &view));
  return p2p::send(view, comm.peer_proc(dest), outgoing(comm, tag), mode);
}

Status send_nonblocking(const void* buf, Count count, const layout::Datatype& datatype, int dest, int tag,
                        comm::Communicator& comm, p2p::Mode mode, p2p::Request*& request) {
  if (dest == abi::kProcNull) [[unlikely]]
    return done_already(p2p::Completion{}, request);
  layout::View view;
  HR_TRY(view_on(buf, count, datatype, comm, &view));
  HR_TRY(p2p::isend(view, comm.peer_proc(dest), outgoing(comm, tag), mode, &request));
  keep_communicator(*request, comm);
  return kOk;
}

// Receives into any kind of memory and any layout; contiguous host memory that no driver knows takes the fast path.
[[gnu::noinline]] Status receive_nonblocking(void* buf, Count count, const layout::Datatype& datatype,
                                             const p2p::Envelope& wanted, comm::Communicator& comm,
                                             p2p::Request*& request) {
  layout::View view;
  HR_TRY(view_on(buf, count, datatype, comm, &view));
  HR_TRY(view.is_unknown_to_driver() ? p2p::ireceive_contiguous(buf, count, datatype, view.packed, wanted, &request)
                                     : p2p::ireceive(view, wanted, &request));
  keep_communicator(*request, comm);
  return kOk;
}

Status make_persistent_send(const void* buf, Count count, const layout::Datatype& datatype, int dest, int tag,
                            comm::Communicator& comm, p2p::Mode mode, p2p::Request*& request) {
  if (dest == abi::kProcNull) return persistent_nothing(p2p::Completion{}, request);
  layout::View view;
  HR_TRY(layout::make_view(buf, count, datatype, &view));
  HR_TRY(p2p::send_init(view, comm.peer_proc(dest), outgoing(comm, tag), mode, &request));
  keep_communicator(*request, comm);
  return kOk;
}

}  // namespace

// --- blocking (sections 3.2, 3.4) ---

Status send(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm) {
  const Status sent = send_at_once(buf, count, datatype, dest, tag, comm);
  if (!sent.is_again()) [[likely]]
    return sent;
  return send_blocking(buf, count, datatype, dest, tag, comm, p2p::Mode::kStandard);
}

Status ssend(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm) {
  return send_blocking(buf, count, datatype, dest, tag, comm, p2p::Mode::kSynchronous);
}

Status rsend(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm) {
  return send_blocking(buf, count, datatype, dest, tag, comm, p2p::Mode::kReady);
}

Status recv(void* buf, Count count, layout::Datatype& datatype, int source, int tag, comm::Communicator& comm,
            MPI_Status* status) {
  p2p::Completion completion = from_nobody();
  Status error = kOk;
  if (source != abi::kProcNull) [[likely]] {
    layout::View view;
    HR_TRY(view_on(buf, count, datatype, comm, &view));
    error = p2p::receive(view, incoming(comm, source, tag), &completion);
  } else {
    p2p::take_turn();
  }
  fill_status(status, completion);
  return error;
}

// --- non-blocking (section 3.7) ---

Status isend(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm,
             p2p::Request*& request) {
  if (send_at_once(buf, count, datatype, dest, tag, comm).ok()) [[likely]] {
    request = p2p::completed_send_request();
    return kOk;
  }
  return send_nonblocking(buf, count, datatype, dest, tag, comm, p2p::Mode::kStandard, request);
}

Status issend(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm,
              p2p::Request*& request) {
  return send_nonblocking(buf, count, datatype, dest, tag, comm, p2p::Mode::kSynchronous, request);
}

Status irsend(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm,
              p2p::Request*& request) {
  return send_nonblocking(buf, count, datatype, dest, tag, comm, p2p::Mode::kReady, request);
}

Status irecv(void* buf, Count count, layout::Datatype& datatype, int source, int tag, comm::Communicator& comm,
             p2p::Request*& request) {
  if (source == abi::kProcNull) [[unlikely]]
    return done_already(from_nobody(), request);
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
  if (!layout::find_contiguous_without_driver(buf, count, datatype, &data, &bytes)) [[unlikely]]
    return receive_nonblocking(buf, count, datatype, incoming(comm, source, tag), comm, request);
  HR_TRY(p2p::ireceive_contiguous(buf, count, datatype, bytes, incoming(comm, source, tag), &request));
  keep_communicator(*request, comm);
  return kOk;
}

// --- persistent (section 3.9) ---

Status send_init(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm,
                 p2p::Request*& request) {
  return make_persistent_send(buf, count, datatype, dest, tag, comm, p2p::Mode::kStandard, request);
}

Status ssend_init(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm,
                  p2p::Request*& request) {
  return make_persistent_send(buf, count, datatype, dest, tag, comm, p2p::Mode::kSynchronous, request);
}

Status rsend_init(const void* buf, Count count, layout::Datatype& datatype, int dest, int tag, comm::Communicator& comm,
                  p2p::Request*& request) {
  return make_persistent_send(buf, count, datatype, dest, tag, comm, p2p::Mode::kReady, request);
}

Status recv_init(void* buf, Count count, layout::Datatype& datatype, int source, int tag, comm::Communicator& comm,
                 p2p::Request*& request) {
  if (source == abi::kProcNull) return persistent_nothing(from_nobody(), request);
  layout::View view;
  HR_TRY(layout::make_view(buf, count, datatype, &view));
  HR_TRY(p2p::receive_init(view, incoming(comm, source, tag), &request));
  keep_communicator(*request, comm);
  return kOk;
}

// --- probes (section 3.8) ---

Status probe(int source, int tag, comm::Communicator& comm, MPI_Status* status) {
  p2p::Completion completion = from_nobody();
  if (source != abi::kProcNull) {
    HR_TRY(p2p::probe(incoming(comm, source, tag), &completion));
  } else {
    p2p::take_turn();
  }
  fill_status(status, completion);
  return kOk;
}

Status iprobe(int source, int tag, comm::Communicator& comm, int& flag, MPI_Status* status) {
  p2p::Completion completion = from_nobody();
  bool found = true;
  if (source != abi::kProcNull) {
    HR_TRY(p2p::iprobe(incoming(comm, source, tag), &found, &completion));
  } else {
    p2p::take_turn();
  }
  flag = found ? 1 : 0;
  if (found) fill_status(status, completion);
  return kOk;
}

Status mprobe(int source, int tag, comm::Communicator& comm, p2p::Message*& message, MPI_Status* status) {
  p2p::Completion completion = from_nobody();
  if (source == abi::kProcNull) {
    p2p::take_turn();
    message = no_process_message();
  } else {
    HR_TRY(p2p::mprobe(incoming(comm, source, tag), &message, &completion));
    keep_communicator(*message, comm);
  }
  fill_status(status, completion);
  return kOk;
}

Status improbe(int source, int tag, comm::Communicator& comm, int& flag, p2p::Message*& message, MPI_Status* status) {
  p2p::Completion completion = from_nobody();
  bool found = true;
  message = nullptr;
  if (source == abi::kProcNull) {
    p2p::take_turn();
    message = no_process_message();
  } else {
    HR_TRY(p2p::improbe(incoming(comm, source, tag), &found, &message, &completion));
    if (found) keep_communicator(*message, comm);
  }
  flag = found ? 1 : 0;
  if (found) fill_status(status, completion);
  return kOk;
}

Status mrecv(void* buf, Count count, layout::Datatype& datatype, MPI_Message* message, MPI_Status* status) {
  p2p::Completion completion = from_nobody();
  Status error = kOk;
  p2p::Message* matched = nullptr;
  HR_TRY(take_message(message, &matched));
  if (matched != nullptr) {
    layout::View view;
    HR_TRY(layout::make_view(buf, count, datatype, &view));
    *message = MPI_MESSAGE_NULL;
    const auto comm = Ref<comm::Communicator>::share(static_cast<comm::Communicator*>(matched->communicator_));
    error = p2p::mreceive(view, matched, &completion);
    if (!error.ok()) blame(comm.get());
  }
  *message = MPI_MESSAGE_NULL;
  fill_status(status, completion);
  return error;
}

Status imrecv(void* buf, Count count, layout::Datatype& datatype, MPI_Message* message, p2p::Request*& request) {
  p2p::Message* matched = nullptr;
  HR_TRY(take_message(message, &matched));
  if (matched == nullptr) {
    *message = MPI_MESSAGE_NULL;
    return done_already(from_nobody(), request);
  }
  layout::View view;
  HR_TRY(layout::make_view(buf, count, datatype, &view));
  auto& comm = *static_cast<comm::Communicator*>(matched->communicator_);
  const Ref<comm::Communicator> alive = Ref<comm::Communicator>::share(&comm);
  *message = MPI_MESSAGE_NULL;
  HR_TRY(p2p::imreceive(view, matched, &request));
  keep_communicator(*request, comm);
  return kOk;
}

}  // namespace hr::bind::impl
