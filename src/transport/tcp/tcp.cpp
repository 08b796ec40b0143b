#include "transport/tcp/tcp.hpp"

#include <memory>
#include <utility>

#include "transport/network/unavailable.hpp"
#include "transport/tcp/endpoint.hpp"

namespace hr::transport::tcp {
namespace {

Status create(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  auto made = std::make_unique<Tcp>(job, handlers);
  if (made->create().ok()) {
    *out = std::move(made);
  } else {
    *out = network::make_unavailable(job, "tcp", take_detail());
  }
  return kOk;
}

}  // namespace

const Record kRecord{"tcp", create, true};

}  // namespace hr::transport::tcp
