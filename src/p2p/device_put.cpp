#include "p2p/device_put.hpp"

#include <cstring>
#include <memory>
#include <vector>

#include "base/statistics.hpp"
#include "layout/cuda/peer.hpp"
#include "p2p/claims.hpp"

namespace hr::p2p::device_put {
namespace {

using layout::cuda::PeerCopy;
using layout::cuda::PeerView;

struct Put {
  Request* send = nullptr;
  int proc = -1;  // of the receiver
  std::uint64_t receiver_cookie = 0;
  PeerCopy copy;
};

std::vector<std::unique_ptr<Put>> puts;
std::vector<std::unique_ptr<Put>> free_puts;
PolledWait polled;

std::unique_ptr<Put> take_put() {
  if (free_puts.empty()) return std::make_unique<Put>();
  std::unique_ptr<Put> put = std::move(free_puts.back());
  free_puts.pop_back();
  return put;
}

void end(Put& put, Status status) {
  Completion completion;
  completion.error = status;
  if (status.ok()) {
    send_answer(put.proc, wire::put_ends(put.receiver_cookie, wire::kPutDone));
  } else {
    std::string why = take_detail();
    send_answer(put.proc, wire::put_ends(put.receiver_cookie, wire::kPutFailed), why.data(),
                std::min(why.size(), Answer::kMaxBytes));
    set_detail(std::move(why));
  }
  complete(*put.send, completion);
}

bool advance(void*) {
  bool moved = false;
  for (std::size_t i = 0; i < puts.size();) {
    bool done = false;
    const Status status = puts[i]->copy.poll(&done);
    if (!done) {
      ++i;
      continue;
    }
    moved = true;
    std::unique_ptr<Put> ended = std::move(puts[i]);
    puts.erase(puts.begin() + static_cast<std::ptrdiff_t>(i));
    end(*ended, status);
    free_puts.push_back(std::move(ended));
  }
  polled.hold(!puts.empty());
  if (puts.empty()) remove_hook(&advance, nullptr);
  return moved;
}

}  // namespace

void arrive(int from_proc, Request& send, const std::byte* payload) {
  wire::Put asked;
  PeerView to;
  std::memcpy(&asked, payload, sizeof asked);
  std::memcpy(static_cast<void*>(&to), payload + sizeof asked, PeerView::kContiguousBytes);
  if (to.contiguous == 0) std::memcpy(static_cast<void*>(&to), payload + sizeof asked, sizeof to);
  // All of the message, which is one granule, is this process's; or the receiver has waited long enough and fetches.
  Peer& peer = engine()->peers[static_cast<std::size_t>(from_proc)];
  Claims claims(peer.transport->shared_words(from_proc)[asked.word].value, asked.generation, 1);
  if (claims.from_back().bytes == 0) return;
  // Who puts must stay to the end of it.
  if (!send.waits_) return send_answer(from_proc, wire::put_ends(asked.receiver_cookie, wire::kPutDeclined));
  std::unique_ptr<Put> put = take_put();
  put->send = &send;
  put->proc = from_proc;
  put->receiver_cookie = asked.receiver_cookie;
  const Status status = put->copy.run(PeerCopy::Direction::kPut, to, from_proc, send.view_, asked.bytes);
  if (status.errc() == Errc::kUnsupportedOperation) {
    static_cast<void>(take_detail());
    return send_answer(from_proc, wire::put_ends(asked.receiver_cookie, wire::kPutRefused));
  }
  if (!status.ok()) return end(*put, status);
  add(Statistic::cuda_puts);
  puts.push_back(std::move(put));
  add_hook(&advance, nullptr);
  polled.hold(true);
}

bool idle() noexcept { return puts.empty(); }

void finalize() {
  remove_hook(&advance, nullptr);
  puts.clear();
  free_puts.clear();
  polled.hold(false);
}

}  // namespace hr::p2p::device_put
