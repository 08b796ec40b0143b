// Feeds a connection of the transport over TCP with any bytes, after a correct handshake: a peer whose library is
// broken must not break this process (transport/tcp/receive.cpp). Each message must come from that peer, and be no
// longer than the input.
#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "driver.hpp"
#include "tcp_peer.hpp"

namespace {

using namespace hr::transport;

std::size_t longest = 0;

void take(int from, const Header& /*header*/, const std::byte* payload, std::size_t bytes) {
  if (from != tcp::kPeer || bytes > longest) std::abort();
  volatile std::byte sum{};
  for (std::size_t i = 0; i < bytes; ++i) sum = sum ^ payload[i];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Handlers handlers;
  handlers.of_kind.fill(take);
  longest = size + sizeof(RendezvousData);
  tcp::TcpPeer peer(handlers);
  peer.connect();
  for (std::size_t at = 0; at < size;) {
    // Some bytes at a time, so that frames arrive in pieces.
    const std::size_t part = std::min<std::size_t>(size - at, 1 + data[at] * 5);
    const ssize_t sent = ::send(peer.socket(), data + at, part, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN) break;  // the transport has closed the connection
    if (sent > 0) at += static_cast<std::size_t>(sent);
    peer.transport().progress();
  }
  for (int round = 0; round < 4; ++round) peer.transport().progress();
  static_cast<void>(::shutdown(peer.socket(), SHUT_RDWR));
  for (int round = 0; round < 4; ++round) peer.transport().progress();
  return 0;
}
