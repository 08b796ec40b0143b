#include "layout/device/peer_store.hpp"

namespace hr::layout::device {

using mem::device::Context;
using mem::device::Current;
using mem::device::DeviceAddress;

Status PeerStore::start(const View& from, const PeerView& to, int process, std::size_t bytes) {
  Context* context = nullptr;
  HR_TRY(Context::of(from.where, &context));
  const Current current(*context);
  HR_TRY(current.status());
  HR_TRY(mem::device::map_import(*context, process, to.data, &mapping_));
  const DeviceAddress target = mem::device::base_of(*mapping_) + (to.address - to.data.base);
  mem::device::StreamHandle stream = nullptr;
  HR_TRY(context->copy_stream(2 * process + 1, &stream));
  HR_DEVICE(context->device(), copy_async, (target, reinterpret_cast<std::uintptr_t>(from.data()), bytes, stream),
            "%zu bytes to rank %d", bytes, process);
  return work_event_.record(*context, stream);
}

Status PeerStore::poll(bool* done) {
  const Status status = work_event_.poll("a copy to another process", done);
  if (*done) unpin();
  return status;
}

void PeerStore::unpin() noexcept {
  if (mapping_ != nullptr) mem::device::unpin(mapping_);
  mapping_ = nullptr;
}

}  // namespace hr::layout::device
