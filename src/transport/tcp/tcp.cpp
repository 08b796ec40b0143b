#include "transport/tcp/tcp.hpp"

#include <memory>
#include <string>
#include <utility>

#include "transport/network/rdma.hpp"
#include "transport/tcp/endpoint.hpp"

namespace hr::transport::tcp {
namespace {

Status create(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  auto made = std::make_unique<Tcp>(job, handlers);
  HR_TRY(made->create());
  *out = std::move(made);
  return kOk;
}

// Suits every host.
std::string suits_host() {
  const std::string& unusable = network::rdma_devices().unusable;
  return unusable.empty() ? "this host has no other network, and no setting selects a library" : unusable;
}

}  // namespace

const Record kRecord{"tcp", create, true, nullptr, nullptr, suits_host};

}  // namespace hr::transport::tcp
