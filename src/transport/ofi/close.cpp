// Disconnecting from processes of other jobs, and closing the transport.
#include <algorithm>
#include <utility>
#include <vector>

#include "transport/network/wait.hpp"
#include "transport/ofi/endpoint.hpp"

namespace hr::transport::ofi {

// Injected messages have no completion; the completion of a later message shows that they have also left.
void Ofi::flush_some(std::span<Peer* const> peers) {
  for (Peer* each : peers) {
    if (!each->connected || each->failure != 0 || !each->worked || (each->in_doubt && each->held.empty())) continue;
    post_word(*each, Front::kPing, 0, 0, sent, true);
  }
  wait_for(peers, [](const Peer& each) { return each.in_flight == 0; });
}

// If a process closed its endpoint while others still send, their messages would be lost. So all processes flush, then
// wait for one another, and continue to receive meanwhile.
Status Ofi::finalize() {
  const std::vector<Peer*> all = all_peers();
  flush_some(all);
  closing_ = true;
  const Status status = late_ ? Status(kOk) : network::wait_for_all(*this);
  memory_.close();
  for (auto& [number, source] : sources_) Fabric::remove(&source.registration);
  for (Peer* each : all) {
    if (each->reserved != nullptr) buffers_.give_back(std::exchange(each->reserved, nullptr));
    // A request that the provider has not completed still refers to the peer.
    if (each->in_flight != 0) static_cast<void>(peers_[static_cast<std::size_t>(each->proc)].release());
  }
  close_fabric();
  return status;
}

void Ofi::close_fabric() noexcept {
  for (Landing& each : landings_) Fabric::remove(&each.registration);
  buffers_.clear();
  fabric_.close();
  closed_ = true;
}

bool Ofi::disconnect(std::span<const int> procs) {
  const std::vector<Peer*> disconnected = connect_to_disconnect(procs);
  for (Peer* each : disconnected) {
    if (each->failure == 0) post_word(*each, Front::kDisconnect, each->sent, 0);
  }
  wait_for(disconnected, [this](const Peer& each) {
    const auto farewell = farewells_.find(each.proc);
    return farewell != farewells_.end() && inbox_.delivered(each.proc) == farewell->second;
  });
  flush_some(disconnected);
  for (Peer* each : disconnected) forget(*each);
  return false;
}

void Ofi::forget(Peer& peer) {
  const int proc = peer.proc;
  if (peer.failure == 0) peer.failure = FI_ECONNRESET;  // fail_path() then ignores errors of its operations
  forget_state(peer, buffers_);
  std::erase(unheard_, &peer);
  farewells_.erase(proc);
  std::erase_if(kept_, [proc](const auto& each) { return each.second.proc == proc; });
  if (peer.connected) fabric_.remove_address(peer.address);
  auto& entry = peers_[static_cast<std::size_t>(proc)];
  // A request that the provider has not completed still refers to the peer.
  if (peer.in_flight != 0) static_cast<void>(entry.release());
  entry.reset();
  inbox_.forget(proc);
}

Ofi::~Ofi() {
  for (auto& each : peers_) {
    if (each != nullptr && each->reserved != nullptr) buffers_.give_back(each->reserved);
  }
  if (closed_) return;
  // The program ends without MPI_Finalize.
  memory_.abandon();
  for (Landing& each : landings_) static_cast<void>(each.memory.release());  // the provider may still write there
  fabric_.abandon();
}

}  // namespace hr::transport::ofi
