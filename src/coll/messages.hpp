// Sends and receives the messages of a collective: between its members, in the context of its communicator's
// collectives, with the tag of the operation. For use in algorithms; two messages between the same processes match in
// the order they were posted.
#pragma once

#include "coll/call.hpp"
#include "coll/view_tools.hpp"
#include "p2p/task.hpp"

namespace hr::coll {

using layout::View;
using p2p::Requests;
using p2p::Task;

[[nodiscard]] inline Status send_to(const Call& call, int peer, const View& data, p2p::Request** request) {
  const p2p::Envelope envelope{call.members->context(), call.members->own_source(), call.tag};
  return p2p::isend(data, call.members->peer_proc(peer), envelope, p2p::Mode::kStandard, request);
}

[[nodiscard]] inline Status receive_from(const Call& call, int peer, const View& data, p2p::Request** request) {
  const p2p::Envelope wanted{call.members->context(), call.members->source(peer), call.tag};
  return p2p::ireceive(data, wanted, request);
}

// Posts a receive and a send, in this order.
template <class RequestSet>
[[nodiscard]] Status exchange(const Call& call, int to, const View& out, int from, const View& in,
                              RequestSet& requests) {
  HR_TRY(receive_from(call, from, in, requests.next()));
  return send_to(call, to, out, requests.next());
}

// Copies this process's own block from send to recv; does nothing if either buffer is none().
[[nodiscard]] inline Status copy_block(const Blocks& send, int send_block, const Blocks& recv, int recv_block) {
  if (send.none() || recv.none()) return kOk;
  View from;
  View to;
  HR_TRY(send.block(send_block, &from));
  HR_TRY(recv.block(recv_block, &to));
  if (from.packed > to.packed) {
    return fail(Errc::kTruncate, "this process's own block has %zu bytes to send and room for %zu to receive",
                from.packed, to.packed);
  }
  return layout::copy(from, to);
}

}  // namespace hr::coll
