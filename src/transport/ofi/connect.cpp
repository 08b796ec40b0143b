// Paths to other processes: their addresses, and the first query to each.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "boot/boot.hpp"
#include "boot/process_name.hpp"
#include "transport/network/eager.hpp"
#include "transport/ofi/address.hpp"
#include "transport/ofi/endpoint.hpp"

namespace hr::transport::ofi {

Status Ofi::address_of(Peer& peer) {
  std::vector<std::byte> bytes;
  HR_TRY(fetch_address(peer, &bytes));
  Address address;
  const bool complete = decode_address(std::move(bytes), &address);
  if (complete && address.terms != fabric_.terms()) {
    return fail(Errc::kOther,
                "ofi: this process uses provider %s of libfabric, and %s (host %s) uses %s: set "
                "HEADRACE_OFI_PROVIDER to one that both hosts have, and libfabric's variables to the same values",
                fabric_.terms().c_str(), boot::process_name(boot::processes(), peer.proc).c_str(),
                peer.host.empty() ? "?" : peer.host.c_str(), address.terms.c_str());
  }
  if (!complete || !is_place(fabric_.info().addr_format, address.place)) {
    return fail(Errc::kOther, "ofi: the network address of %s is too short, or not one of provider %s",
                boot::process_name(boot::processes(), peer.proc).c_str(), fabric_.provider().c_str());
  }
  peer.place = std::move(address.place);
  static_cast<void>(socket_of(fabric_.info().addr_format, peer.place, &peer.socket));
  peer.closed_port = address.closed_port;
  peer.secret = address.secret;
  names_.set_secret(peer.proc, peer.secret);
  return kOk;
}

Status Ofi::connect(int proc) {
  Peer& to = peer(proc);
  if (to.connected || to.failure != 0) [[likely]]
    return kOk;
  HR_TRY(address_of(to));
  HR_TRY(fabric_.add_address(to.place, &to.address));
  to.connected = true;
  to.in_doubt = fabric_.may_lose_first_messages() && !to.heard;
  if (to.in_doubt) {
    unheard_.push_back(&to);
    ask(now_seconds());
  } else {
    to.at_once = std::min(kMostOnStack, fabric_.info().tx_attr->inject_size);
  }
  to.tuned_eager_bytes = network::tuned_eager_bytes(host_name(), to.host);
  log::write(log::Level::kDecision, "ofi: rank %d is reached by %s on %s; sent unasked: up to %zu bytes", proc,
             fabric_.provider().c_str(), fabric_.device().c_str(), caps(proc).eager_bytes);
  return kOk;
}

void Ofi::ask(double now) {
  for (Peer* const each : unheard_) {
    if (each->asking || each->failure != 0 || !each->greeting.due(now)) continue;
    each->asking = true;
    post_word(*each, Front::kAsk, 0, 0, [](Request& request, int error) {
      static_cast<Peer*>(request.line)->asking = false;
      sent(request, error);
    });
  }
}

void Ofi::hear_of(int from) {
  Peer& heard = peer(from);
  heard.heard = true;
  if (!heard.in_doubt) return;
  std::erase(unheard_, &heard);
  heard.at_once = std::min(kMostOnStack, fabric_.info().tx_attr->inject_size);
  requests_.release(heard);
}

}  // namespace hr::transport::ofi
