#include "coll/carry_out.hpp"

#include "coll/device/through_pinned.hpp"
#include "coll/reduction.hpp"
#include "coll/select.hpp"
#include "coll/view_tools.hpp"

namespace hr::coll {
namespace {

// Operations whose Call::bytes is 0 on all processes when it is on one: nothing moves, so nothing need be sent.
constexpr std::uint32_t kAgreedSize =
    serves(Operation::kBcast, Operation::kGather, Operation::kScatter, Operation::kAllgather, Operation::kAlltoall,
           Operation::kReduce, Operation::kAllreduce, Operation::kReduceScatter, Operation::kReduceScatterBlock,
           Operation::kScan, Operation::kExscan);

// Of a buffer that is one view.
bool on_device(const Blocks& blocks) noexcept { return !blocks.none() && blocks.all().where.is_device(); }

Query query_of(const Call& call, DeviceMode mode) noexcept {
  Query query;
  query.operation = call.operation;
  query.bytes = call.bytes;
  query.ranks = call.size();
  query.inter = call.comm->is_inter();
  query.in_place = call.in_place;
  if (call.op != nullptr) {
    const View& vector = contribution(call);
    query.commutative = call.op->commutative();
    query.span = typed_bytes(vector.count, *vector.type);
    query.element = typed_bytes(1, *vector.type);
  }
  if (call.area != nullptr) {
    query.sharing = call.area->sharing();
    query.slot = call.area->slot_bytes();
    query.crowded = call.area->crowded();
  }
  query.devices = mode.agreed;
  // The exchange has taken the operation's cells: what follows is a device algorithm, or goes through messages.
  if (mode.on) query.sharing = Sharing::kNone;
  return query;
}

Task failed(Status status) { co_return status; }

}  // namespace

bool nothing_to_do(const Call& call) noexcept {
  return call.bytes == 0 && (kAgreedSize & serves(call.operation)) != 0 && !call.comm->is_inter();
}

int length_of(const Call& call, const Blocks& blocks) {
  if (blocks.shape() == Blocks::Shape::kConsecutive) return call.size();  // reduce_scatter: the own group's
  if (call.operation < Operation::kNeighborAllgather) return call.peers();
  const comm::Topology::Neighbors neighbors = call.comm->topology_->neighbors(call.rank());
  return static_cast<int>(&blocks == &call.send ? neighbors.destinations.size() : neighbors.sources.size());
}

Holds what_is_in(const Call& call, const Blocks& blocks) {
  if (blocks.none()) return Holds::kNothing;
  if (!mem::maybe_device()) return Holds::kHostData;
  const bool whole = blocks.shape() == Blocks::Shape::kUniform || blocks.shape() == Blocks::Shape::kConsecutive;
  const int length = whole ? 0 : length_of(call, blocks);
  for (int i = 0; i < length; ++i) {
    if (blocks.bytes(i) == 0) continue;
    View view;
    return blocks.block(i, &view).ok() && view.where.is_device() ? Holds::kDeviceData : Holds::kHostData;
  }
  if (!whole || blocks.all().packed == 0) return Holds::kNothing;
  return on_device(blocks) ? Holds::kDeviceData : Holds::kHostData;
}

bool never_on_devices(const Call& call) noexcept {
  constexpr std::uint32_t kAlltoalls = serves(Operation::kAlltoall, Operation::kAlltoallv, Operation::kAlltoallw);
  return call.operation == Operation::kBarrier || (call.in_place && (kAlltoalls & serves(call.operation)) != 0);
}

const Algorithm* choose(const Call& call, Status* status, DeviceMode mode) {
  const Algorithm* algorithm = select(query_of(call, mode));
  if (algorithm == nullptr) [[unlikely]] {
    *status = fail(Errc::kUnsupportedOperation, "no algorithm of %s serves %s", name(call.operation),
                   call.comm->is_inter() ? "an intercommunicator" : "these arguments");
  }
  return algorithm;
}

Task carry_out(const Call& call, const Algorithm* algorithm, Buffers buffers) {
  const bool reduces_on_host =
      call.op != nullptr && !algorithm->devices && (on_device(call.send) || on_device(call.recv));
  if (reduces_on_host || buffers == Buffers::kPinned) [[unlikely]]
    return device::through_pinned(call, algorithm);
  return algorithm->run(call);
}

Task carry_out_by_messages(const Call& call) {
  Status status = kOk;
  const Algorithm* algorithm = choose(call, &status);
  return algorithm != nullptr ? carry_out(call, algorithm) : failed(status);
}

}  // namespace hr::coll
