#include "transport/ofi/ofi.hpp"

#include <memory>
#include <utility>

#include "transport/network/unavailable.hpp"
#include "transport/ofi/endpoint.hpp"
#include "transport/ofi/library.hpp"

namespace hr::transport::ofi {
namespace {

Status create(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  const Settings settings;
  const Library* library = nullptr;
  Status status = open_library(&library);
  std::unique_ptr<Ofi> made;
  if (status.ok()) {
    made = std::make_unique<Ofi>(job, handlers, *library);
    status = made->create();
  }
  if (status.ok()) {
    *out = std::move(made);
  } else {
    *out = network::make_unavailable(job, "ofi", take_detail());
  }
  return kOk;
}

bool can_open() {
  const Settings settings;
  const Library* library = nullptr;
  if (open_library(&library).ok()) return true;
  static_cast<void>(take_detail());
  return false;
}

}  // namespace

const Record kRecord{"ofi", create, true, nullptr, can_open, suits_host};

}  // namespace hr::transport::ofi
