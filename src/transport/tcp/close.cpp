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
  network::wait_until(*this, [&] {
    return std::ranges::all_of(
        peers, [](const Peer* each) { return each->failure != 0 || (each->queue.empty() && each->streams.empty()); });
  });
}

// If a process closed its connections while others were still sending, their messages would be lost. So all processes
// send what is queued, then wait for one another, and continue to receive meanwhile. The channels stay open until then.
Status Tcp::finalize() {
  if (whole_ != nullptr) {
    for (auto& each : connections_) close(*each);
    whole_->channels_[channel_] = nullptr;
    return kOk;
  }
  std::vector<Peer*> all;
  for (auto& each : peers_) {
    if (each != nullptr) all.push_back(each.get());
  }
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

// Sends all disconnects before it waits for any, as the other processes disconnect in an order of their choice.
bool Tcp::disconnect(std::span<const int> procs) {
  std::vector<Peer*> disconnected;
  for (const int proc : procs) {
    if (static_cast<std::size_t>(proc) < job_size_ || !reaches(proc)) continue;
    if (!connect(proc).ok()) fail_path(peer(proc), EHOSTUNREACH);
    disconnected.push_back(&peer(proc));
  }
  for (Peer* const each : disconnected) {
    if (each->failure == 0) post_word(*each, Frame::kDisconnect, 0, 0);
  }
  network::wait_until(*this, [&] {
    return std::ranges::all_of(disconnected, [](const Peer* each) { return each->failure != 0 || each->has_left; });
  });
  drain(disconnected);
  for (Peer* const each : disconnected) forget(*each);
  return false;
}

void Tcp::forget(Peer& peer) {
  const int proc = peer.proc;
  while (!peer.connections.empty()) close(*peer.connections.front());
  drop_queue(peer);
  if (peer.reserved != nullptr) buffers_.give_back(std::exchange(peer.reserved, nullptr));
  std::erase(broken_, &peer);
  std::erase(connecting_, &peer);
  std::erase(collecting_, &peer);
  failed_.forget(&peer);
  unwatched_.forget(proc);
  std::erase_if(kept_, [proc](const auto& each) { return each.second.proc == proc; });
  std::erase_if(sources_, [&](const auto& each) { return each.second.peer == &peer; });
  addresses_[static_cast<std::size_t>(proc)].clear();
  names_.remove(proc);
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
