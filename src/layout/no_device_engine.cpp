// Stands in for layout/cuda until that folder has sources: no view can be on a device without it.
#include "layout/cuda/engine.hpp"

namespace hr::layout::cuda {
namespace {
Status absent() {
  return fail(Errc::kUnsupportedOperation, "this build has no device engine; datatypes with holes on a device need it");
}
}  // namespace

Status pack(const View&, std::size_t, std::size_t, std::byte*) { return absent(); }
Status unpack(const View&, std::size_t, std::size_t, const std::byte*) { return absent(); }
Status copy(const View&, const View&) { return absent(); }

}  // namespace hr::layout::cuda
