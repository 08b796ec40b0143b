// Replaces ucx.cpp if the library is built without UCX's headers.
#include "transport/ucx/ucx.hpp"

namespace hr::transport::ucx {
namespace {

Status create(const Job& /*job*/, const Handlers& /*handlers*/, std::unique_ptr<Transport>* /*out*/) {
  return fail(
      Errc::kOther,
      "processes of this job share no memory, and this library was built without UCX: build it with UCX's headers (pip "
      "install libucx-cu13, or the system's libucx-dev), or use TCP (HEADRACE_NETWORK=tcp), which needs no library");
}

}  // namespace

const Record kRecord{"ucx", create, true, nullptr, [] { return false; }, [] { return std::string(); }};

}  // namespace hr::transport::ucx
