#include "p2p/connect_groups.hpp"

#include <algorithm>

#include "boot/boot.hpp"
#include "p2p/core/steps.hpp"

namespace hr::p2p {
namespace {

transport::Job job() {
  const boot::Identity& identity = boot::identity();
  return {identity.rank, identity.size, boot::processes(), identity.job_id, true};
}

}  // namespace

Status describe(bool make, std::string* address) {
  const Status status = transport::describe(job(), make, address);
  list_transports();
  return status;
}

Status connect_groups(const transport::PeerGroups& groups) {
  Engine& state = *engine();
  state.peers.resize(static_cast<std::size_t>(boot::processes().size()), &state.unconnected);
  for (const int proc : groups.theirs) {
    // A process that had failed has reconnected.
    Peer& peer = peer_of(proc);
    if (&peer != &state.unconnected && peer.failed) peer.failed = false;
  }
  const Status connected = transport::connect_groups(job(), groups);
  list_transports();
  return connected;
}

void disconnect(std::span<const int> procs) {
  Engine& state = *engine();
  for (const int proc : procs) {
    Peer& peer = peer_of(proc);
    if (&peer == &state.unconnected) continue;
    // The record may be listed as busy, so it is kept.
    peer.connected = false;
    peer.plain_below = 0;
    peer.transport = nullptr;
    peer.memory = nullptr;
    peer.has_our_locality = false;
    peer.locality = 0;
  }
  state.sleeper.end_listener();
  state.sleeper.wake();  // wakes threads that sleep in a transport that may be closed
  transport::disconnect(procs, state.sleeper.in_use());
  list_transports();
}

}  // namespace hr::p2p
