// Sends, receives and probes on channels.
#include "bind/channel_calls.hpp"

#include <optional>
#include <utility>

#include "bind/entry.hpp"
#include "bind/impl/request_support.hpp"
#include "bind/status.hpp"
#include "p2p/channel.hpp"
#include "p2p/channel_pace.hpp"

namespace hr::bind::channel_calls {
namespace {

using p2p::Channel;
using p2p::ChannelBuffer;
using p2p::Mode;

// The communicator of a call, and its channel, if it uses one.
struct Place {
  explicit Place(MPI_Comm handle) : comm(lookup<comm::Communicator>(handle)) {
    if (comm != nullptr) channel = comm::channel_of(*comm);
  }
  explicit Place(comm::Communicator& of) noexcept : comm(&of) {}
  explicit operator bool() const noexcept { return channel != nullptr; }
  // True if the communicator uses several channels.
  [[nodiscard]] bool several() const noexcept {
    return channel == nullptr && comm != nullptr && comm->several_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool sends(int dest, int tag) const { return rank_ok(dest, *comm) && tag_ok(tag); }
  [[nodiscard]] bool receives(int source, int tag) const {
    return source != abi::kProcNull && source_ok(source, *comm) && any_tag_ok(tag);
  }
  [[nodiscard]] p2p::Envelope outgoing(int tag) const { return {comm->context(), comm->rank(), tag}; }
  [[nodiscard]] p2p::Envelope incoming(int source, int tag) const { return {comm->context(), source, tag}; }
  [[nodiscard]] p2p::ChannelUser user() const { return {comm, &comm->channel_operations_}; }
  int result(const Call& call, Status status) const {
    if (status.ok()) [[likely]]
      return MPI_SUCCESS;
    const LibraryGuard guard;
    return raise(call, comm, status);
  }

  comm::Communicator* comm;
  Channel* channel = nullptr;
};

// The same for a communicator that uses several channels: the channel for messages with one tag; none if the tag is
// negative.
struct TagPlace : Place {
  TagPlace(comm::Communicator& of, int tag) : Place(of) {
    if (tag >= 0) channel = comm::channel_of(*comm, tag, &operations);
  }
  [[nodiscard]] p2p::ChannelUser user() const { return {comm, operations}; }

  std::atomic<std::uint32_t>* operations = nullptr;
};

// Raises an error for a receive or probe with MPI_ANY_TAG on a communicator that uses several channels, because the
// message may come on any of them. False if the call is not such a receive or probe.
[[gnu::cold, gnu::noinline]] bool refuse_any_tag(const Call& call, comm::Communicator& comm, int source, int tag,
                                                 int* code) {
  if (tag != abi::kAnyTag || source == abi::kProcNull || !source_ok(source, comm)) return false;
  const Outside outside;
  Counted counted(call);
  const LibraryGuard guard;
  *code = raise(call, &comm,
                fail(Errc::kTag,
                     "the tag is MPI_ANY_TAG, but all members have set mpi_assert_no_any_tag when they created this "
                     "communicator; name the tag, or create the communicator without this hint"));
  return true;
}

// Execute a call by body(place), which returns false if an argument is wrong. If the communicator uses several
// channels, the place has the channel for the tag. This case is rare, so it is not inlined; `body` captures arguments
// by value, because arguments with addresses would be kept in memory in all cases.
template <class Body>
[[gnu::noinline]] bool send_by_tag(comm::Communicator& comm, int tag, Body body) {
  const TagPlace found(comm, tag);
  return found && body(found);
}
template <class Body>
[[gnu::always_inline]] inline bool send_on(MPI_Comm handle, int tag, Body body) {
  const Place place(handle);
  if (place) [[likely]]
    return body(place);
  return place.several() && send_by_tag(*place.comm, tag, body);
}
template <class Body>
[[gnu::noinline]] bool receive_by_tag(const Call& call, comm::Communicator& comm, int source, int tag, int* code,
                                      Body body) {
  if (tag < 0) return refuse_any_tag(call, comm, source, tag, code);
  return body(TagPlace(comm, tag));
}
template <class Body>
[[gnu::always_inline]] inline bool receive_on(MPI_Comm handle, const Call& call, int source, int tag, int* code,
                                              Body body) {
  const Place place(handle);
  if (place) [[likely]]
    return body(place);
  return place.several() && receive_by_tag(call, *place.comm, source, tag, code, body);
}

// The data argument of a call. describe() returns false if an argument is wrong.
class Data {
 public:
  Data() noexcept {}  // with a constexpr constructor, the compiler clears the whole object, `view_` included
  bool describe(const void* buf, MPI_Count count, MPI_Datatype datatype) {
    layout::Datatype* const type = committed(datatype);
    if (type == nullptr || count < 0) return false;
    const std::byte* data = nullptr;
    if (layout::find_contiguous_by_address(buf, count, *type, &data, &buffer_.bytes)) [[likely]] {
      buffer_.data = const_cast<std::byte*>(data);
      return true;
    }
    return describe_view(buf, count, *type);
  }
  [[nodiscard]] const ChannelBuffer& buffer() const noexcept { return buffer_; }

 private:
  [[gnu::noinline]] bool describe_view(const void* buf, MPI_Count count, const layout::Datatype& type) {
    const std::byte* data = nullptr;
    if (layout::find_contiguous_unknown_to_driver(buf, count, type, &data, &buffer_.bytes)) {
      buffer_.data = const_cast<std::byte*>(data);
      return true;
    }
    buffer_.data = nullptr;
    const LibraryGuard guard;
    layout::View& view = view_.emplace();
    if (!layout::make_view(buf, count, type, &view).ok()) {
      static_cast<void>(take_detail());
      return false;
    }
    buffer_.bytes = view.packed;
    if (view.packed == 0 || view.is_unknown_to_driver()) {
      buffer_.data = view.data();
    } else {
      buffer_.view = &view;
    }
    return true;
  }

  ChannelBuffer buffer_;
  std::optional<layout::View> view_;  // empty for the usual short message
};

[[gnu::always_inline]] inline bool send_with(Mode mode, const Call& call, const void* buf, MPI_Count count,
                                             MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, int* code) {
  return send_on(comm, tag, [=, &call](const auto& place) {
    Data data;
    if (!place.sends(dest, tag) || !data.describe(buf, count, datatype)) return false;
    const Outside outside;
    Counted counted(call);
    const Status sent = place.channel->send(data.buffer(), place.comm->peer_proc(dest), place.outgoing(tag), mode);
    if (sent.ok()) counted.sends(data.buffer().bytes);
    *code = place.result(call, sent);
    return true;
  });
}

// Creates the request of a call: begin(data, &request) starts the operation on the channel. `sends`: true if the call
// sends a message. False if an argument is wrong.
template <class P, class Begin>
[[gnu::always_inline]] inline bool make_request(const Call& call, const P& place, bool valid, bool sends,
                                                const void* buf, MPI_Count count, MPI_Datatype datatype,
                                                MPI_Request* request, int* code, Begin&& begin) {
  Data data;
  if (!valid || request == nullptr || !data.describe(buf, count, datatype)) return false;
  const Outside outside;
  Counted counted(call);
  p2p::Request* made = nullptr;
  const Status begun = begin(data.buffer(), &made);
  if (sends && begun.ok()) counted.sends(data.buffer().bytes);
  *code = place.result(call, begun);
  *request = handle_of(made);
  return true;
}

[[gnu::always_inline]] inline bool isend_with(Mode mode, const Call& call, const void* buf, MPI_Count count,
                                              MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                                              MPI_Request* request, int* code) {
  return send_on(comm, tag, [=, &call](const auto& place) {
    return make_request(call, place, place.sends(dest, tag), true, buf, count, datatype, request, code,
                        [&](const ChannelBuffer& data, p2p::Request** made) {
                          return place.channel->isend(data, place.comm->peer_proc(dest), place.outgoing(tag), mode,
                                                      place.user(), made);
                        });
  });
}

bool init_with(Mode mode, bool buffered, const Call& call, const void* buf, MPI_Count count, MPI_Datatype datatype,
               int dest, int tag, MPI_Comm comm, MPI_Request* request, int* code) {
  return send_on(comm, tag, [=, &call](const auto& place) {
    return make_request(call, place, place.sends(dest, tag), false, buf, count, datatype, request, code,
                        [&](const ChannelBuffer& data, p2p::Request** made) {
                          return place.channel->init(false, data, place.comm->peer_proc(dest), place.outgoing(tag),
                                                     mode, buffered, place.user(), made);
                        });
  });
}

// Sends from a copy of the data, for which the attached buffer must have space.
Status send_buffered(const Place& place, const Data& data, int dest, int tag) {
  {
    const LibraryGuard guard;
    HR_TRY(impl::check_room(*place.comm, data.buffer().bytes));
  }
  return place.channel->send_copy(data.buffer(), place.comm->peer_proc(dest), place.outgoing(tag));
}

// Peers and tags of a call that sends and receives.
struct Halves {
  int dest;
  int sendtag;
  int source;
  int recvtag;
};

// Waits for a send and a receive on different channels.
void wait_for_both(p2p::Request& send, p2p::Request& receive) {
  p2p::channels::Pace pace;
  while (!send.complete() && !receive.complete()) {
    const unsigned moves = send.operation_->channel->round() + receive.operation_->channel->round();
    pace.pause(moves);
  }
  send.operation_->channel->wait(send);
  receive.operation_->channel->wait(receive);
}

// The data arguments of a call that sends and receives.
struct Memory {
  const void* sendbuf;
  MPI_Count sendcount;
  MPI_Datatype sendtype;
  void* recvbuf;
  MPI_Count recvcount;
  MPI_Datatype recvtype;
};

// Executes a call that sends and receives on different channels; a blocking call if `request` is null. Sends a copy of
// the data if the call replaces the data, or does not wait: its request is that of the receive, joined with the send.
// False if an argument is wrong.
bool exchange_apart(const Call& call, const TagPlace& to, const TagPlace& from, const Halves& halves,
                    const Memory& memory, MPI_Status* status, MPI_Request* request, int* code) {
  Data out, in;
  if (!to.sends(halves.dest, halves.sendtag) || !from.receives(halves.source, halves.recvtag) ||
      !out.describe(memory.sendbuf, memory.sendcount, memory.sendtype) ||
      !in.describe(memory.recvbuf, memory.recvcount, memory.recvtype)) {
    return false;
  }
  const Outside outside;
  Counted counted(call);
  const int proc = to.comm->peer_proc(halves.dest);
  const bool copied = request != nullptr || memory.sendbuf == memory.recvbuf;
  const p2p::Envelope outgoing = to.outgoing(halves.sendtag);
  p2p::Request* sent = nullptr;
  p2p::Request* made = nullptr;
  Status result = copied ? to.channel->isend_copy(out.buffer(), proc, outgoing, to.user(), &sent)
                         : to.channel->isend(out.buffer(), proc, outgoing, Mode::kStandard, to.user(), &sent);
  if (result.ok()) {
    counted.sends(out.buffer().bytes);
    result = from.channel->ireceive(in.buffer(), from.incoming(halves.source, halves.recvtag), from.user(), &made);
  }
  if (request != nullptr && result.ok()) {
    from.channel->join_send(*made, *std::exchange(sent, nullptr));
  } else if (result.ok()) {
    wait_for_both(*sent, *made);
    const p2p::Request& failed = made->completion_.error.ok() ? *sent : *made;
    result = failed.completion_.error;
    if (!result.ok()) set_detail(std::string(failed.detail()));
    fill_status(status, made->completion_);
    from.channel->give_back(*made);
  }
  if (sent != nullptr) to.channel->give_back(*sent);
  if (request != nullptr) *request = handle_of(made);
  *code = to.result(call, result);
  return true;
}

// The two halves of a call that sends and receives. valid() returns false if an argument is wrong, or there is nothing
// to do.
template <class P>
struct Both {
  const P& place;
  int dest;
  int source;
  [[nodiscard]] bool valid(int sendtag, int recvtag) const {
    const bool sends = dest != abi::kProcNull;
    const bool receives = source != abi::kProcNull;
    if (sends ? !place.sends(dest, sendtag) : !tag_ok(sendtag)) return false;
    if (receives ? !place.receives(source, recvtag) : !any_tag_ok(recvtag)) return false;
    return sends || receives;
  }
  [[nodiscard]] Status start(const ChannelBuffer& out, bool copied, int sendtag, const ChannelBuffer& in, int recvtag,
                             Counted& counted, p2p::Request** made) const {
    const bool sends = dest != abi::kProcNull;
    HR_TRY(place.channel->pair(out, copied, sends ? place.comm->peer_proc(dest) : -1, place.outgoing(sendtag), in,
                               place.incoming(source, recvtag), place.user(), made));
    if (sends) counted.sends(out.bytes);
    return kOk;
  }
  // Waits for both, and reports.
  [[nodiscard]] Status finish(p2p::Request* made, MPI_Status* status) const {
    place.channel->wait(*made);
    const p2p::Completion completion = made->completion_;
    fill_status(status, completion);
    if (!completion.error.ok()) set_detail(std::string(made->detail()));
    place.channel->give_back(*made);
    return completion.error;
  }
};

template <class P>
bool exchange_at(const P& place, const Call& call, const Halves& halves, const Memory& memory, bool replaces,
                 MPI_Status* status, MPI_Request* request, int* code) {
  Data out, in;
  const Both both{place, halves.dest, halves.source};
  if (!both.valid(halves.sendtag, halves.recvtag) || !in.describe(memory.recvbuf, memory.recvcount, memory.recvtype) ||
      (!replaces && !out.describe(memory.sendbuf, memory.sendcount, memory.sendtype))) {
    return false;
  }
  const Outside outside;
  Counted counted(call);
  p2p::Request* made = nullptr;
  Status result =
      both.start((replaces ? in : out).buffer(), replaces, halves.sendtag, in.buffer(), halves.recvtag, counted, &made);
  if (request == nullptr && result.ok()) result = both.finish(made, status);
  *code = place.result(call, result);
  if (request != nullptr) *request = handle_of(made);
  return true;
}

// Executes a call that sends and receives; a blocking call if `request` is null. `replaces`: both halves have the same
// memory. False if an argument is wrong.
bool exchange(const Call& call, MPI_Comm handle, const Halves& halves, const Memory& memory, bool replaces,
              MPI_Status* status, MPI_Request* request, int* code) {
  const Place place(handle);
  if (place) [[likely]]
    return exchange_at(place, call, halves, memory, replaces, status, request, code);
  if (!place.several()) return false;
  if (refuse_any_tag(call, *place.comm, halves.source, halves.recvtag, code)) return true;
  const bool sends = halves.dest != abi::kProcNull;
  const bool receives = halves.source != abi::kProcNull;
  const TagPlace to(*place.comm, sends ? halves.sendtag : halves.recvtag);
  const TagPlace from(*place.comm, receives ? halves.recvtag : halves.sendtag);
  if (!to || !from) return false;
  if (to.channel == from.channel) return exchange_at(from, call, halves, memory, replaces, status, request, code);
  return exchange_apart(call, to, from, halves, memory, status, request, code);
}

}  // namespace

#define HR_SEND_ARGUMENTS \
  const Call &call, const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm
#define HR_PASSED call, buf, count, datatype, dest, tag, comm

bool send(HR_SEND_ARGUMENTS, int* code) { return send_with(Mode::kStandard, HR_PASSED, code); }
bool ssend(HR_SEND_ARGUMENTS, int* code) { return send_with(Mode::kSynchronous, HR_PASSED, code); }
bool rsend(HR_SEND_ARGUMENTS, int* code) { return send_with(Mode::kReady, HR_PASSED, code); }
bool isend(HR_SEND_ARGUMENTS, MPI_Request* request, int* code) {
  return isend_with(Mode::kStandard, HR_PASSED, request, code);
}
bool issend(HR_SEND_ARGUMENTS, MPI_Request* request, int* code) {
  return isend_with(Mode::kSynchronous, HR_PASSED, request, code);
}
bool irsend(HR_SEND_ARGUMENTS, MPI_Request* request, int* code) {
  return isend_with(Mode::kReady, HR_PASSED, request, code);
}
bool send_init(HR_SEND_ARGUMENTS, MPI_Request* request, int* code) {
  return init_with(Mode::kStandard, false, HR_PASSED, request, code);
}
bool ssend_init(HR_SEND_ARGUMENTS, MPI_Request* request, int* code) {
  return init_with(Mode::kSynchronous, false, HR_PASSED, request, code);
}
bool rsend_init(HR_SEND_ARGUMENTS, MPI_Request* request, int* code) {
  return init_with(Mode::kReady, false, HR_PASSED, request, code);
}
bool bsend_init(HR_SEND_ARGUMENTS, MPI_Request* request, int* code) {
  return init_with(Mode::kStandard, true, HR_PASSED, request, code);
}

bool bsend(HR_SEND_ARGUMENTS, int* code) {
  return send_on(comm, tag, [=, &call](const auto& place) {
    Data data;
    if (!place.sends(dest, tag) || !data.describe(buf, count, datatype)) return false;
    const Outside outside;
    Counted counted(call);
    const Status sent = send_buffered(place, data, dest, tag);
    if (sent.ok()) counted.sends(data.buffer().bytes);
    *code = place.result(call, sent);
    return true;
  });
}

bool ibsend(HR_SEND_ARGUMENTS, MPI_Request* request, int* code) {
  return send_on(comm, tag, [=, &call](const auto& place) {
    Data data;
    if (request == nullptr || !place.sends(dest, tag) || !data.describe(buf, count, datatype)) return false;
    const Outside outside;
    Counted counted(call);
    *request = MPI_REQUEST_NULL;
    *code = place.result(call, send_buffered(place, data, dest, tag));
    if (*code != MPI_SUCCESS) return true;
    counted.sends(data.buffer().bytes);
    const LibraryGuard guard;
    p2p::Request* made = nullptr;
    const Status status = impl::done_already(p2p::Completion{}, made);
    *request = handle_of(made);
    if (!status.ok()) *code = raise(call, place.comm, status);
    return true;
  });
}

#undef HR_SEND_ARGUMENTS
#undef HR_PASSED

bool recv(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
          MPI_Status* status, int* code) {
  return receive_on(comm, call, source, tag, code, [=, &call](const auto& place) {
    Data data;
    if (!place.receives(source, tag) || !data.describe(buf, count, datatype)) return false;
    const Outside outside;
    Counted counted(call);
    p2p::Completion completion;
    const Status received = place.channel->receive(data.buffer(), place.incoming(source, tag), place.comm, &completion);
    fill_status(status, completion);
    *code = place.result(call, received);
    return true;
  });
}

bool irecv(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
           MPI_Request* request, int* code) {
  return receive_on(comm, call, source, tag, code, [=, &call](const auto& place) {
    return make_request(call, place, place.receives(source, tag), false, buf, count, datatype, request, code,
                        [&](const ChannelBuffer& data, p2p::Request** made) {
                          return place.channel->ireceive(data, place.incoming(source, tag), place.user(), made);
                        });
  });
}

bool recv_init(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
               MPI_Request* request, int* code) {
  return receive_on(comm, call, source, tag, code, [=, &call](const auto& place) {
    return make_request(call, place, place.receives(source, tag), false, buf, count, datatype, request, code,
                        [&](const ChannelBuffer& data, p2p::Request** made) {
                          return place.channel->init(true, data, -1, place.incoming(source, tag), Mode::kStandard,
                                                     false, place.user(), made);
                        });
  });
}

bool sendrecv(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
              void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
              MPI_Status* status, int* code) {
  return exchange(call, comm, {dest, sendtag, source, recvtag},
                  {sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype}, false, status, nullptr, code);
}

bool isendrecv(const Call& call, const void* sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
               void* recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
               MPI_Request* request, int* code) {
  return request != nullptr &&
         exchange(call, comm, {dest, sendtag, source, recvtag},
                  {sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype}, false, nullptr, request, code);
}

bool sendrecv_replace(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                      int source, int recvtag, MPI_Comm comm, MPI_Status* status, int* code) {
  return exchange(call, comm, {dest, sendtag, source, recvtag}, {buf, count, datatype, buf, count, datatype}, true,
                  status, nullptr, code);
}

bool isendrecv_replace(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, int dest, int sendtag,
                       int source, int recvtag, MPI_Comm comm, MPI_Request* request, int* code) {
  return request != nullptr && exchange(call, comm, {dest, sendtag, source, recvtag},
                                        {buf, count, datatype, buf, count, datatype}, true, nullptr, request, code);
}

// --- probes ---

bool probe(const Call& call, int source, int tag, MPI_Comm comm, MPI_Status* status, int* code) {
  return receive_on(comm, call, source, tag, code, [=, &call](const auto& place) {
    if (!place.receives(source, tag)) return false;
    const Outside outside;
    Counted counted(call);
    p2p::Completion completion;
    bool found = false;
    const Status probed =
        place.channel->probe(place.incoming(source, tag), true, place.comm, &found, &completion, nullptr);
    if (probed.ok()) fill_status(status, completion);
    *code = place.result(call, probed);
    return true;
  });
}

bool iprobe(const Call& call, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status, int* code) {
  return receive_on(comm, call, source, tag, code, [=, &call](const auto& place) {
    if (flag == nullptr || !place.receives(source, tag)) return false;
    const Outside outside;
    Counted counted(call);
    p2p::Completion completion;
    bool found = false;
    const Status probed =
        place.channel->probe(place.incoming(source, tag), false, place.comm, &found, &completion, nullptr);
    *flag = found ? 1 : 0;
    if (found) fill_status(status, completion);
    if (!found) p2p::channels::pause_after_test();
    *code = place.result(call, probed);
    return true;
  });
}

namespace {

bool extract(bool waits, const Call& call, int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
             MPI_Status* status, int* code) {
  return receive_on(comm, call, source, tag, code, [=, &call](const auto& place) {
    if (message == nullptr || !place.receives(source, tag)) return false;
    const Outside outside;
    Counted counted(call);
    p2p::Completion completion;
    bool found = false;
    p2p::Unexpected* taken = nullptr;
    Status probed = place.channel->probe(place.incoming(source, tag), waits, place.comm, &found, &completion, &taken);
    *message = MPI_MESSAGE_NULL;
    if (flag != nullptr) *flag = found ? 1 : 0;
    if (found) {
      const LibraryGuard guard;
      p2p::Message* made = Arena<p2p::Message>::instance().create();
      if (made == nullptr) {
        probed = fail(Errc::kNoMem, "no memory for another matched message");
      } else {
        made->unexpected_ = taken;
        made->channel_ = place.channel;
        impl::keep_communicator(*made, *place.comm);
        *message = handle_of(made);
        fill_status(status, completion);
      }
    } else {
      p2p::channels::pause_after_test();
    }
    *code = place.result(call, probed);
    return true;
  });
}

}  // namespace

bool mprobe(const Call& call, int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status, int* code) {
  return extract(true, call, source, tag, comm, nullptr, message, status, code);
}

bool improbe(const Call& call, int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status,
             int* code) {
  return flag != nullptr && extract(false, call, source, tag, comm, flag, message, status, code);
}

namespace {

// Starts the receive of a matched message, and invalidates its handle. False if the message does not belong to a
// channel, or an argument is wrong.
bool receive_matched(void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message, comm::Communicator** comm,
                     p2p::Request** made, Status* status) {
  p2p::Message* matched =
      message == nullptr || *message == MPI_MESSAGE_NO_PROC ? nullptr : lookup<p2p::Message>(*message);
  if (matched == nullptr || matched->channel_ == nullptr) return false;
  Data data;
  if (!data.describe(buf, count, datatype)) return false;
  *comm = static_cast<comm::Communicator*>(matched->communicator_);
  Channel* channel = matched->channel_;
  *status =
      channel->imreceive(data.buffer(), matched->unexpected_, {*comm, comm::operations_on(**comm, *channel)}, made);
  *message = MPI_MESSAGE_NULL;
  const LibraryGuard guard;
  if (status->ok()) matched->unexpected_ = nullptr;
  // The operation is counted by now, so a communicator that the program has freed stays until the operation ends.
  if ((*comm)->references() == 1) comm::keep_for_channel(**comm);
  release(matched);
  return true;
}

}  // namespace

bool mrecv(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
           MPI_Status* status, int* code) {
  const Outside outside;
  Counted counted(call);
  comm::Communicator* comm = nullptr;
  p2p::Request* made = nullptr;
  Status result = kOk;
  if (!receive_matched(buf, count, datatype, message, &comm, &made, &result)) return counted.withdraw(), false;
  if (result.ok()) {
    made->operation_->channel->wait(*made);
    result = made->completion_.error;
    fill_status(status, made->completion_);
    if (!result.ok()) set_detail(std::string(made->detail()));
  }
  *code = MPI_SUCCESS;
  if (!result.ok()) {
    const LibraryGuard guard;
    *code = raise(call, comm, result);
  }
  if (made != nullptr) made->operation_->channel->give_back(*made);
  return true;
}

bool imrecv(const Call& call, void* buf, MPI_Count count, MPI_Datatype datatype, MPI_Message* message,
            MPI_Request* request, int* code) {
  if (request == nullptr) return false;
  const Outside outside;
  Counted counted(call);
  comm::Communicator* comm = nullptr;
  p2p::Request* made = nullptr;
  Status result = kOk;
  if (!receive_matched(buf, count, datatype, message, &comm, &made, &result)) return counted.withdraw(), false;
  *request = handle_of(made);
  *code = MPI_SUCCESS;
  if (!result.ok()) {
    const LibraryGuard guard;
    *code = raise(call, comm, result);
  }
  return true;
}

}  // namespace hr::bind::channel_calls
