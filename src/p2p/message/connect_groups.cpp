#include "p2p/connect_groups.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "boot/boot.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/progress.hpp"
#include "p2p/protocol/rendezvous.hpp"

namespace hr::p2p {
namespace {

transport::Job job() {
  const boot::Identity& identity = boot::identity();
  return {identity.rank, identity.size, boot::processes(), identity.job_id, true};
}

// Removes the broken paths to these processes, which now connect again, and forgets that the processes counted as
// failed.
void renew(std::span<const int> procs) {
  poll();  // the other side may have noticed first, and closed its end
  Engine& state = *engine();
  std::vector<int> lost;
  for (const int proc : procs) {
    Peer& peer = peer_of(proc);
    const bool failed = &peer != &state.unconnected && peer.failed;
    const bool broken =
        std::ranges::any_of(transport::active(), [proc](const auto* each) { return each->has_lost(proc); });
    if (failed) flush(peer);  // ends operations that are left from before
    if (failed) peer.failed = false;
    if (failed || broken) lost.push_back(proc);
  }
  if (!lost.empty()) disconnect(lost);
}

void forget_path(Peer& peer, int proc) {
  for (const Rendezvous* each : protocols()) {
    if (each->disconnect != nullptr) each->disconnect(proc);
  }
  // The record may be listed as busy, so it is kept.
  peer.connected = false;
  peer.plain_below = 0;
  peer.transport = nullptr;
  peer.memory = nullptr;
  peer.has_our_locality = false;
  peer.locality = 0;
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
  renew(groups.theirs);
  const Status connected = transport::connect_groups(job(), groups);
  list_transports();
  return connected;
}

void confirm(std::string_view groups) {
  for (transport::Transport* each : transport::active()) {
    if (each->connects(groups)) each->confirm();
  }
}

void abandon(std::string_view groups) {
  Engine& state = *engine();
  for (const transport::Transport* each : transport::active()) {
    if (!each->connects(groups)) continue;
    for (std::size_t at = 0; at < state.peers.size(); ++at) {
      const int proc = static_cast<int>(at);
      Peer& peer = peer_of(proc);
      if (&peer != &state.unconnected && (peer.transport == each || peer.memory == each)) forget_path(peer, proc);
    }
  }
  state.sleeper.end_listener();
  state.sleeper.wake();
  transport::abandon(groups, state.sleeper.in_use());
  list_transports();
}

void disconnect(std::span<const int> procs) {
  Engine& state = *engine();
  for (const int proc : procs) {
    Peer& peer = peer_of(proc);
    if (&peer != &state.unconnected) forget_path(peer, proc);
  }
  state.sleeper.end_listener();
  state.sleeper.wake();  // wakes threads that sleep in a transport that may be closed
  transport::disconnect(procs, state.sleeper.in_use());
  list_transports();
}

}  // namespace hr::p2p
