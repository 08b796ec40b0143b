// Makes the offer of a process to the others of an operation in device mode.
#include <algorithm>
#include <string>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "coll/device/buffers.hpp"
#include "coll/reduction.hpp"
#include "layout/cuda/peer_side.hpp"

namespace hr::coll::device {
namespace {

bool same_context(const mem::Location& a, const mem::Location& b) noexcept {
  return a.context == b.context && a.device == b.device;
}

Status unreachable(const char* why) { return fail(Errc::kUnsupportedOperation, "%s", why); }

}  // namespace

void DeviceBuffers::describe(const Call& call, Offer& offer) {
  offer.flags = offer.allocation_count = offer.piece_count = 0;
  offer.place = 0;
  offer.send = offer.recv = {};
  near_ = {};
  taken_.clear();
  contexts_.clear();
  if (knobs().cuda_ipc == CudaIpcChoice::kOff) return;
  const Status described = call.op != nullptr ? describe_operands(call, offer) : describe_pieces(call, offer);
  if (!described.ok()) {
    offer.allocation_count = offer.piece_count = 0;
    const std::string why = take_detail();
    if (log::enabled(log::Level::kTrace)) {
      log::write(log::Level::kTrace, "%s goes by messages: %s", name(call.operation), why.c_str());
    }
    return;
  }
  offer.flags |= Offer::kReachable;
  if (!near_.is_device() || layout::cuda::has_copy_kernels(near_)) offer.flags |= Offer::kKernels;
  if (near_.is_device()) {
    mem::cuda::Context* context = nullptr;
    if (mem::cuda::Context::of(near_, &context).ok()) place_ = {context->handle(), context->id()};
    offer.place = mem::cuda::Context::place_of(near_);
    if (place_ != proven_place_) offer.flags |= Offer::kUnproven | Offer::kMoved;
  }
  if (!proven(offer)) offer.flags |= Offer::kUnproven;
}

// Reductions: the whole of each buffer, in one piece.
Status DeviceBuffers::describe_operands(const Call& call, Offer& offer) {
  if (call.size() > layout::cuda::kMaxReduceSides) return unreachable("more processes than a kernel reads");
  const layout::Datatype& type = *contribution(call).type;
  HR_TRY(describe_buffer(call, call.recv, offer, &offer.recv));
  HR_TRY(describe_buffer(call, call.send, offer, &offer.send));
  if (call.send.none()) offer.send = offer.recv;
  if (!near_.is_device() || !type.one_run() || !layout::cuda::PeerWork::can_reduce(near_, *call.op, type))
    return unreachable("no kernel for this reduction");
  return kOk;
}

Status DeviceBuffers::describe_buffer(const Call& call, const Blocks& blocks, Offer& offer, Buffer* buffer) {
  if (blocks.none() || blocks.all().packed == 0) return kOk;
  const View& view = blocks.all();
  if (!view.contiguous) return unreachable("operands with holes");
  HR_TRY(use(view));
  std::uint32_t allocation = 0;
  HR_TRY(add_allocation(call, view.where, layout::cuda::addresses_of(view), offer, &allocation));
  *buffer = {reinterpret_cast<std::uintptr_t>(view.data()), view.packed, allocation};
  return kOk;
}

Status DeviceBuffers::describe_pieces(const Call& call, Offer& offer) {
  HR_TRY(each_taken(call, [&](const PieceName& name, int block) { return take(call.recv, block, name, offer); }));
  return each_given(
      call, [&](const Blocks& blocks, int block, int reader) { return give(call, blocks, block, reader, offer); });
}

Status DeviceBuffers::take(const Blocks& blocks, int block, const PieceName& name, Offer& offer) {
  Taken taken{name, {}};
  HR_TRY(blocks.block(block, &taken.to));
  if (taken.to.packed != 0) {
    HR_TRY(use(taken.to));
    if (!same_context(taken.to.where, near_)) return unreachable("blocks in several contexts");
    if (!taken.to.contiguous) offer.flags |= Offer::kTyped;
  }
  taken_.push_back(taken);
  return kOk;
}

Status DeviceBuffers::give(const Call& call, const Blocks& blocks, int block, int reader, Offer& offer) {
  if (offer.piece_count == Offer::kMaxPieces) return unreachable("more pieces than an offer has room for");
  View view;
  HR_TRY(blocks.block(block, &view));
  Piece& piece = offer.pieces[offer.piece_count++];
  piece = {};
  piece.reader = reader;
  if (view.packed == 0) return kOk;
  HR_TRY(use(view));
  piece.bytes = view.packed;
  // The whole buffer at once, if it is known.
  const View& whole = blocks.all().packed != 0 ? blocks.all() : view;
  HR_TRY(add_allocation(call, view.where, layout::cuda::addresses_of(whole), offer, &piece.allocation));
  mem::Location list;
  HR_TRY(layout::cuda::side_for_peers(view, &piece.side, &list));
  if (!view.contiguous) offer.flags |= Offer::kTyped;
  return list.id == 0 ? kOk : add_allocation(call, list, {}, offer, &piece.list);
}

// Notes memory that this operation reads or writes: on a device that the work, which runs where the first of it is,
// reaches.
Status DeviceBuffers::use(const View& view) {
  if (!view.where.is_device()) return unreachable("memory of no device");
  if (!near_.is_device()) near_ = view.where;
  for (const mem::Location& known : contexts_) {
    if (same_context(known, view.where)) return kOk;
  }
  if (!contexts_.empty() && !layout::cuda::within_reach(near_, view)) return unreachable("another device's memory");
  contexts_.push_back(view.where);
  return kOk;
}

Status DeviceBuffers::add_allocation(const Call& call, const mem::Location& where, const mem::cuda::Range& range,
                                     Offer& offer, std::uint32_t* index) {
  const auto is_offered = [&](std::uint64_t id) {
    for (*index = 0; *index < offer.allocation_count; ++*index) {
      if (offer.allocations[*index].id == id) return true;
    }
    return false;
  };
  // For memory in chunks, only the chunks say which export it belongs to.
  if (!where.chunks && is_offered(where.id)) return kOk;
  if (others_.empty()) {
    for (int rank = 0; rank < call.size(); ++rank) {
      if (rank != call.rank()) others_.push_back(call.members->peer_proc(rank));
    }
  }
  mem::cuda::Export exported;
  exported.id = where.id;
  if (!others_.empty()) HR_TRY(mem::cuda::export_to(others_, where, range, &exported));
  if (is_offered(exported.id)) return kOk;
  if (offer.allocation_count == Offer::kMaxAllocations)
    return unreachable("more allocations than an offer has room for");
  offer.allocations[offer.allocation_count++] = exported;
  return kOk;
}

bool DeviceBuffers::proven(const Offer& offer) const {
  for (std::uint32_t i = 0; i < offer.allocation_count; ++i) {
    if (std::find(proven_.begin(), proven_.end(), offer.allocations[i].id) == proven_.end()) return false;
  }
  return true;
}

}  // namespace hr::coll::device
