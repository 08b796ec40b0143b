#include "layout/cuda/peer.hpp"

#include "layout/canonical.hpp"
#include "layout/cuda/peer_side.hpp"
#include "layout/cuda/pitched.hpp"

namespace hr::layout::cuda {

using mem::cuda::Context;
using mem::cuda::Current;
using mem::cuda::Export;

Status announce(const View& view, int process, PeerView* announced) {
  HR_TRY(mem::cuda::export_to({&process, 1}, view.where, addresses_of(view), &announced->data));
  announced->list.id = 0;
  announced->contiguous = view.contiguous ? 1 : 0;
  if (view.contiguous) {
    announced->address = reinterpret_cast<std::uintptr_t>(view.data());
    return kOk;
  }
  mem::Location list;
  HR_TRY(side_for_peers(view, &announced->side, &list));
  if (list.id == 0) return kOk;
  return mem::cuda::export_to(process, list, &announced->list);
}

bool regular(const View& view) noexcept { return view.contiguous || view.type->layout().form != Form::kBlocks; }

bool engine_moves(const PeerView& from, const PeerView& to, std::size_t bytes) noexcept {
  if (from.contiguous != 0 && to.contiguous != 0) return true;
  const auto side = [](const PeerView& view) {
    return view.contiguous != 0 ? packed_side(view.address, 0) : view.side;
  };
  return pitched(side(from), side(to), bytes);
}

Status PeerCopy::map(Context& context, int process, const Export& what, std::size_t slot, std::uint64_t* moved_by) {
  HR_TRY(mem::cuda::map_import(context, process, what, &mappings_[slot]));
  *moved_by = mem::cuda::base_of(*mappings_[slot]) - what.base;
  return kOk;
}

Status PeerCopy::prepare(Context& context, const PeerView& remote, int process, const View& local) {
  if ((remote.contiguous == 0 || !local.contiguous) && !has_copy_kernels(context)) {
    return fail(Errc::kUnsupportedOperation, "the library has no kernels for CUDA device %d", context.device());
  }
  process_ = process;
  std::uint64_t moved_by = 0;
  HR_TRY(map(context, process, remote.data, 0, &moved_by));
  remote_ = remote.contiguous != 0 ? packed_side(remote.address, 0) : remote.side;
  remote_.address += moved_by;
  if (remote_.linear() || remote.list.id == 0) return kOk;
  HR_TRY(map(context, process, remote.list, 1, &moved_by));
  remote_.blocks += moved_by;
  remote_.index += moved_by;
  return kOk;
}

Status PeerCopy::start(Context& context, Direction direction, const View& local, std::size_t bytes) {
  mem::cuda::StreamHandle stream = nullptr;
  HR_TRY(context.lane(process_, &stream));
  SideShape here;
  HR_TRY(side_of(local, context, &here));
  const SideShape& from = direction == Direction::kFetch ? remote_ : here;
  const SideShape& to = direction == Direction::kFetch ? here : remote_;
  if (from.linear() && to.linear()) {
    HR_CUDA(context.device(), copy_async, (to.address, from.address, bytes, stream), "%zu bytes %s rank %d, here at %p",
            bytes, direction == Direction::kFetch ? "from" : "to", process_, static_cast<void*>(local.data()));
    return ticket_.record(context, stream);
  }
  bool started = false;
  HR_TRY(start_pitched(context, stream, from, to, bytes, &started));
  if (started) return ticket_.record(context, stream);
  HR_TRY(launch_copy(context, context.stream(), from, to, 0, bytes, &started));
  return ticket_.record(context, context.stream());
}

Status PeerCopy::prepare(const PeerView& remote, int process, const View& local) {
  Context* context = nullptr;
  HR_TRY(Context::of(local.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  return prepare(*context, remote, process, local);
}

Status PeerCopy::start(Direction direction, const View& local, std::size_t bytes) {
  Context* context = nullptr;
  HR_TRY(Context::of(local.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  return start(*context, direction, local, bytes);
}

Status PeerCopy::run(Direction direction, const PeerView& remote, int process, const View& local, std::size_t bytes) {
  Context* context = nullptr;
  HR_TRY(Context::of(local.where, &context));
  Current current(*context);
  HR_TRY(current.status());
  HR_TRY(prepare(*context, remote, process, local));
  return start(*context, direction, local, bytes);
}

Status PeerCopy::poll(bool* done) {
  const Status status = ticket_.poll("a copy between processes", done);
  if (*done) release();
  return status;
}

void PeerCopy::release() noexcept {
  for (mem::cuda::Mapping*& mapping : mappings_) {
    if (mapping != nullptr) mem::cuda::unpin(mapping);
    mapping = nullptr;
  }
}

}  // namespace hr::layout::cuda
