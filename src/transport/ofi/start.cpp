// Start-up: the endpoint, and the address at which other processes reach it.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "transport/ofi/address.hpp"
#include "transport/ofi/endpoint.hpp"

namespace hr::transport::ofi {

// If this fails, another transport may take its place, and nothing must go on listening.
Status Ofi::create() {
  const Status status = start();
  if (!status.ok()) close_fabric();
  return status;
}

Status Ofi::start() {
  HR_TRY(names_.make_secret());
  const std::span<const int> here = boot::processes().of_this_host();
  const auto turn = static_cast<std::size_t>(std::ranges::find(here, boot::processes().self()) - here.begin());
  HR_TRY(fabric_.open(listens(), turn, kLeastLanding));
  cost_ = fabric_.is_kernel_network() ? Cost{15e-6, 2e9} : Cost{2e-6, 10e9};
  const fid_nic* const card = fabric_.info().nic;
  if (card != nullptr && card->link_attr != nullptr && card->link_attr->speed > 0) {
    cost_.bytes_per_second = static_cast<double>(card->link_attr->speed) / 8;
  }
  while (landings_.size() < kLandings) HR_TRY(make_landing());
  said_deaf_ = true;  // the error below says so
  post_landings();
  said_deaf_ = false;
  if (!unposted_.empty()) {
    return fail(Errc::kOther, "ofi: provider %s accepts no buffers for messages", fabric_.provider().c_str());
  }
  if (fabric_.descriptor() >= 0) HR_TRY(sleepers_.open(fabric_.descriptor()));
  Address address{.terms = fabric_.terms(), .secret = names_.own_secret()};
  HR_TRY(fabric_.address(&address.place));
  if (sockaddr_storage socket{}; socket_of(fabric_.info().addr_format, address.place, &socket)) {
    // The second port shows that this host is not silent while the queue of connections of this process is full.
    if (const int error = closed_port_.open(socket); error != 0)
      log::write(log::Level::kDecision, "ofi: no second port on %s: %s", fabric_.device().c_str(),
                 std::strerror(error));
    address.closed_port = closed_port_.port();
  }
  return publish(encode_address(address));
}

}  // namespace hr::transport::ofi
