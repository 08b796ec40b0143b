// Replaces ofi.cpp if the library is built without libfabric's headers.
#include "transport/ofi/ofi.hpp"

namespace hr::transport::ofi {
namespace {

Status create(const Job& /*job*/, const Handlers& /*handlers*/, std::unique_ptr<Transport>* /*out*/) {
  return fail(
      Errc::kOther,
      "processes of this job share no memory, and this library was built without libfabric: build it with libfabric's "
      "headers (the system's libfabric-dev), or use TCP (HEADRACE_NETWORK=tcp), which needs no library");
}

}  // namespace

const Record kRecord{"ofi", create, true, nullptr, [] { return false; }, [] { return std::string(); }};

}  // namespace hr::transport::ofi
