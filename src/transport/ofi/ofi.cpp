#include "transport/ofi/ofi.hpp"

#include <memory>
#include <utility>

#include "transport/ofi/endpoint.hpp"
#include "transport/ofi/library.hpp"

namespace hr::transport::ofi {
namespace {

Status create(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out) {
  const Settings settings;
  const Library* library = nullptr;
  HR_TRY(open_library(&library));
  auto made = std::make_unique<Ofi>(job, handlers, *library);
  HR_TRY(made->create());
  *out = std::move(made);
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
