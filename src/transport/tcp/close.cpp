// Disconnecting from processes of other jobs, and closing the transport.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "transport/network/wait.hpp"
#include "transport/tcp/endpoint.hpp"

namespace hr::transport::tcp {

// Waits until the system has accepted all that is queued for these peers.
void Tcp::drain(std::span<Peer* const> peers) {
  wait_for(peers, [](const Peer& each) { return each.queue.empty() && each.streams.empty(); });
}

// If a process closed its connections while others were still sending, their messages would be lost. So all processes
// send what is queued, then wait for one another, and continue to receive meanwhile. The channels stay open until then.
Status Tcp::finalize() {
  if (whole_ != nullptr) {
    for (auto& each : connections_) close(*each);
    whole_->channels_[channel_] = nullptr;
    return kOk;
  }
  const std::vector<Peer*> all = all_peers();
  drain(all);
  closing_ = true;
  for (Tcp* const each : channels_) {
    if (each != nullptr) each->closing_ = true;
  }
  const Status status = late_ ? Status(kOk) : network::wait_for_all(*this);
  for (Peer* const each : all) drop_queue(*each);
  for (auto& each : connections_) close(*each);
  sweep();
  return status;
}

bool Tcp::disconnect(std::span<const int> procs) {
  const std::vector<Peer*> disconnected = connect_to_disconnect(procs);
  for (Peer* const each : disconnected) {
    if (each->failure == 0) post_word(*each, Frame::kDisconnect, 0, 0);
  }
  wait_for(disconnected, [](const Peer& each) { return each.has_left; });
  drain(disconnected);
  for (Peer* const each : disconnected) forget(*each);
  return false;
}

void Tcp::forget(Peer& peer) {
  const int proc = peer.proc;
  while (!peer.connections.empty()) close(*peer.connections.front());
  drop_queue(peer);
  forget_state(peer, buffers_);
  std::erase(connecting_, &peer);
  std::erase(collecting_, &peer);
  std::erase_if(kept_, [proc](const auto& each) { return each.second.proc == proc; });
  std::erase_if(sources_, [&](const auto& each) { return each.second.peer == &peer; });
  peers_[static_cast<std::size_t>(proc)].reset();
}

Tcp::~Tcp() {
  for (auto& each : peers_) {
    if (each == nullptr) continue;
    drop_queue(*each);
    if (each->reserved != nullptr) buffers_.give_back(each->reserved);
  }
  for (auto& each : connections_) close(*each);
  for (const Handed& each : handed_) ::close(each.socket);
  if (listener_ >= 0) ::close(listener_);
  if (events_ >= 0) ::close(events_);
}

}  // namespace hr::transport::tcp
