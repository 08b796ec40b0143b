// Collects the device addresses that a process publishes to the other members of an operation.
#include <algorithm>
#include <string>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "coll/device/buffers.hpp"
#include "coll/reduction.hpp"
#include "layout/device/peer_side.hpp"

namespace hr::coll::device {
namespace {

bool same_context(const mem::Location& a, const mem::Location& b) noexcept {
  return a.context == b.context && a.device == b.device;
}

Status unreachable(const char* why) { return fail(Errc::kUnsupportedOperation, "%s", why); }

}  // namespace

void DeviceBuffers::describe(const Call& call, DeviceAddresses& addresses) {
  addresses.flags = addresses.allocation_count = addresses.piece_count = 0;
  addresses.locality = 0;
  addresses.send = addresses.recv = {};
  near_ = {};
  taken_.clear();
  contexts_.clear();
  if (knobs().device_ipc == DeviceIpcChoice::kOff) return;
  const Status described = call.op != nullptr ? describe_operands(call, addresses) : describe_pieces(call, addresses);
  if (!described.ok()) {
    addresses.allocation_count = addresses.piece_count = 0;
    const std::string why = take_detail();
    if (log::enabled(log::Level::kTrace)) {
      log::write(log::Level::kTrace, "%s goes by messages: %s", name(call.operation), why.c_str());
    }
    return;
  }
  addresses.flags |= DeviceAddresses::kReachable;
  if (!near_.is_device() || layout::device::has_copy_kernels(near_)) addresses.flags |= DeviceAddresses::kKernels;
  if (near_.is_device()) {
    mem::device::Context* context = nullptr;
    if (mem::device::Context::of(near_, &context).ok()) mapping_context_ = {context->handle(), context->id()};
    addresses.locality = mem::device::Context::locality_of(near_);
    if (mapping_context_ != proven_context_) addresses.flags |= DeviceAddresses::kUnproven | DeviceAddresses::kMoved;
  }
  if (!proven(addresses)) addresses.flags |= DeviceAddresses::kUnproven;
}

// Describes the buffers of a reduction, each as a whole.
Status DeviceBuffers::describe_operands(const Call& call, DeviceAddresses& addresses) {
  if (call.size() > layout::device::kMaxReduceSides) return unreachable("more processes than a kernel reads");
  // These write a result before all processes have read the operand. Each process may decide to be in place.
  constexpr std::uint32_t kNeedsOperand =
      serves(Operation::kScan, Operation::kExscan, Operation::kReduceScatter, Operation::kReduceScatterBlock);
  if (call.in_place && (kNeedsOperand & serves(call.operation)) != 0) return unreachable("the operand is in place");
  const layout::Datatype& type = *contribution(call).type;
  HR_TRY(describe_buffer(call, call.recv, addresses, &addresses.recv));
  HR_TRY(describe_buffer(call, call.send, addresses, &addresses.send));
  if (call.send.none()) addresses.send = addresses.recv;
  if (!near_.is_device() || !type.is_contiguous() || !layout::device::PeerWork::can_reduce(near_, *call.op, type))
    return unreachable("no kernel for this reduction");
  return kOk;
}

Status DeviceBuffers::describe_buffer(const Call& call, const Blocks& blocks, DeviceAddresses& addresses,
                                      Buffer* buffer) {
  if (blocks.none() || blocks.all().packed == 0) return kOk;
  const View& view = blocks.all();
  if (!view.contiguous) return unreachable("operands with holes");
  HR_TRY(use(view));
  std::uint32_t allocation = 0;
  HR_TRY(add_allocation(call, view.where, layout::device::addresses_of(view), addresses, &allocation));
  *buffer = {reinterpret_cast<std::uintptr_t>(view.data()), view.packed, allocation};
  return kOk;
}

Status DeviceBuffers::describe_pieces(const Call& call, DeviceAddresses& addresses) {
  HR_TRY(each_taken(call, [&](const PieceName& name, int block) { return take(call.recv, block, name, addresses); }));
  HR_TRY(each_given(
      call, [&](const Blocks& blocks, int block, int reader) { return give(call, blocks, block, reader, addresses); }));
  // If its buffer cannot be described, this process fetches its data itself.
  if (others_use_recv(call) && !describe_buffer(call, call.recv, addresses, &addresses.recv).ok())
    static_cast<void>(take_detail());
  return kOk;
}

// True if other processes may write to the receive buffer of this process: a worker, if it takes turns with others.
bool DeviceBuffers::others_use_recv(const Call& call) const noexcept {
  if (call.recv.none() || call.recv.shape() != Blocks::Shape::kUniform || !call.recv.all().contiguous) return false;
  switch (call.operation) {
    case Operation::kBcast:
      return call.size() > 2 || time_sliced_;
    case Operation::kGather:
      return call.is_root() && (call.size() > 2 || time_sliced_);
    case Operation::kScatter:
    case Operation::kAllgather:
    case Operation::kAlltoall:
      return time_sliced_;
    default:
      return false;
  }
}

Status DeviceBuffers::take(const Blocks& blocks, int block, const PieceName& name, DeviceAddresses& addresses) {
  Taken taken{name, {}};
  HR_TRY(blocks.block(block, &taken.to));
  if (taken.to.packed != 0) {
    HR_TRY(use(taken.to));
    if (!same_context(taken.to.where, near_)) return unreachable("blocks in several contexts");
    if (!taken.to.contiguous) addresses.flags |= DeviceAddresses::kTyped;
  }
  taken_.push_back(taken);
  return kOk;
}

Status DeviceBuffers::give(const Call& call, const Blocks& blocks, int block, int reader, DeviceAddresses& addresses) {
  if (addresses.piece_count == DeviceAddresses::kMaxPieces)
    return unreachable("more pieces than an address exchange has room for");
  View view;
  HR_TRY(blocks.block(block, &view));
  Piece& piece = addresses.pieces[addresses.piece_count++];
  piece = {};
  piece.reader = reader;
  if (view.packed == 0) return kOk;
  HR_TRY(use(view));
  piece.bytes = view.packed;
  // Adds the allocation of the whole buffer at once, if that is known.
  const View& whole = blocks.all().packed != 0 ? blocks.all() : view;
  HR_TRY(add_allocation(call, view.where, layout::device::addresses_of(whole), addresses, &piece.allocation));
  mem::Location list;
  HR_TRY(layout::device::side_for_peers(view, &piece.side, &list));
  if (!view.contiguous) addresses.flags |= DeviceAddresses::kTyped;
  return list.id == 0 ? kOk : add_allocation(call, list, {}, addresses, &piece.list);
}

// Registers memory that this operation reads or writes. The work runs on the device of the first such memory, and must
// be able to access the other memory.
Status DeviceBuffers::use(const View& view) {
  if (!view.where.is_device()) return unreachable("memory of no device");
  if (!near_.is_device()) near_ = view.where;
  for (const mem::Location& known : contexts_) {
    if (same_context(known, view.where)) return kOk;
  }
  if (!contexts_.empty() && !layout::device::can_access(near_, view)) return unreachable("another device's memory");
  contexts_.push_back(view.where);
  return kOk;
}

Status DeviceBuffers::add_allocation(const Call& call, const mem::Location& where, const mem::device::Range& range,
                                     DeviceAddresses& addresses, std::uint32_t* index) {
  const auto is_listed = [&](std::uint64_t id) {
    for (*index = 0; *index < addresses.allocation_count; ++*index) {
      if (addresses.allocations[*index].id == id) return true;
    }
    return false;
  };
  // For chunked memory, only the chunks determine the export that it belongs to.
  if (!where.chunks && is_listed(where.id)) return kOk;
  if (others_.empty()) {
    for (int rank = 0; rank < call.size(); ++rank) {
      if (rank != call.rank()) others_.push_back(call.members->peer_proc(rank));
    }
  }
  mem::device::Export exported;
  exported.id = where.id;
  if (!others_.empty()) HR_TRY(mem::device::export_to(others_, where, range, &exported));
  if (is_listed(exported.id)) return kOk;
  if (addresses.allocation_count == DeviceAddresses::kMaxAllocations)
    return unreachable("more allocations than an address exchange has room for");
  addresses.allocations[addresses.allocation_count++] = exported;
  return kOk;
}

bool DeviceBuffers::proven(const DeviceAddresses& addresses) const {
  for (std::uint32_t i = 0; i < addresses.allocation_count; ++i) {
    if (std::find(proven_.begin(), proven_.end(), addresses.allocations[i].id) == proven_.end()) return false;
  }
  return true;
}

}  // namespace hr::coll::device
