#include "layout/cuda/peer.hpp"

namespace hr::layout::cuda {

using mem::cuda::Context;
using mem::cuda::Current;
using mem::cuda::Export;

Status announce(const View& view, int process, PeerView* announced) {
  HR_TRY(mem::cuda::export_to(process, view.where, &announced->data));
  announced->list.id = 0;
  announced->contiguous = view.contiguous ? 1 : 0;
  if (view.contiguous) {
    announced->address = reinterpret_cast<std::uintptr_t>(view.data());
    return kOk;
  }
  Context* context = nullptr;
  HR_TRY(Context::of(view.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  HR_TRY(side_of(view, *context, &announced->side));
  if (announced->side.blocks == 0) return kOk;
  mem::Location list;
  HR_TRY(mem::classify(reinterpret_cast<const void*>(announced->side.blocks), &list));
  return mem::cuda::export_to(process, list, &announced->list);
}

Status PeerCopy::map(Context& context, int process, const Export& what, std::size_t slot, std::uint64_t* moved_by) {
  HR_TRY(mem::cuda::map_import(context, process, what, &mappings_[slot]));
  *moved_by = mem::cuda::base_of(*mappings_[slot]) - what.base;
  return kOk;
}

Status PeerCopy::prepare(const PeerView& other, int process, const View& own) {
  Context* context = nullptr;
  HR_TRY(Context::of(own.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  if ((other.contiguous == 0 || !own.contiguous) && !has_copy_kernels(*context)) {
    return fail(Errc::kUnsupportedOperation, "the library has no kernels for CUDA device %d", context->device());
  }
  process_ = process;
  std::uint64_t moved_by = 0;
  HR_TRY(map(*context, process, other.data, 0, &moved_by));
  other_ = other.contiguous != 0 ? packed_side(other.address, 0) : other.side;
  other_.address += moved_by;
  if (other_.linear() || other.list.id == 0) return kOk;
  HR_TRY(map(*context, process, other.list, 1, &moved_by));
  other_.blocks += moved_by;
  other_.index += moved_by;
  return kOk;
}

Status PeerCopy::start(const View& own, std::size_t bytes, bool fetching) {
  Context* context = nullptr;
  HR_TRY(Context::of(own.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  mem::cuda::StreamHandle stream = context->stream();
  if (other_.linear() && own.contiguous) {
    HR_TRY(context->lane(process_, &stream));
    const mem::cuda::DeviceAddress mine = reinterpret_cast<std::uintptr_t>(own.data());
    HR_CUDA(context->device(), copy_async,
            (fetching ? mine : other_.address, fetching ? other_.address : mine, bytes, stream),
            "%zu bytes %s rank %d at %p", bytes, fetching ? "from" : "to", process_, static_cast<void*>(own.data()));
  } else {
    SideShape mine;
    HR_TRY(side_of(own, *context, &mine));
    bool launched = false;
    HR_TRY(launch_copy(*context, stream, fetching ? other_ : mine, fetching ? mine : other_, 0, bytes, &launched));
  }
  return ticket_.record(*context, stream);
}

Status PeerCopy::poll(bool* done) {
  const Status status = ticket_.poll("a copy from another process", done);
  if (*done) unpin();
  return status;
}

void PeerCopy::unpin() noexcept {
  for (mem::cuda::Mapping*& mapping : mappings_) {
    if (mapping != nullptr) mem::cuda::unpin(mapping);
    mapping = nullptr;
  }
}

PeerCopy::~PeerCopy() { unpin(); }

}  // namespace hr::layout::cuda
