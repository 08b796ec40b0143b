#include "coll/execute.hpp"

#include "coll/compose/hosts.hpp"
#include "coll/device/through_pinned.hpp"
#include "coll/reduction.hpp"
#include "coll/select.hpp"
#include "coll/shared/wait.hpp"
#include "coll/state.hpp"
#include "coll/view_tools.hpp"

namespace hr::coll {
namespace {

// Operations whose Call::bytes is 0 on all processes if it is 0 on one; then there is no data, and no message is sent.
constexpr std::uint32_t kAgreedSize =
    serves(Operation::kBcast, Operation::kGather, Operation::kScatter, Operation::kAllgather, Operation::kAlltoall,
           Operation::kReduce, Operation::kAllreduce, Operation::kReduceScatter, Operation::kReduceScatterBlock,
           Operation::kScan, Operation::kExscan);

// Operations in which a process may be in place while others are not.
constexpr std::uint32_t kInPlaceByProcess =
    serves(Operation::kGather, Operation::kGatherv, Operation::kScatter, Operation::kScatterv, Operation::kReduce,
           Operation::kReduceScatter, Operation::kReduceScatterBlock, Operation::kScan, Operation::kExscan);

// True if the buffer is a single view, on a device.
bool on_device(const Blocks& blocks) noexcept { return !blocks.none() && blocks.all().where.is_device(); }

Query query_of(const Call& call, AddressExchange exchange) {
  Query query;
  query.operation = call.operation;
  query.bytes = call.bytes;
  query.ranks = call.size();
  query.inter = call.members->is_inter();
  query.in_place = call.in_place && (kInPlaceByProcess & serves(call.operation)) == 0;
  if (call.op != nullptr) {
    const View& vector = contribution(call);
    query.commutative = call.op->commutative();
    query.span = typed_bytes(vector);
    query.element = typed_bytes(1, *vector.type);
  }
  query.hosts = call.members->host_count();
  query.ranks_per_host = call.members->ranks_per_host();
  if (const Hosts* hosts = call.members->hosts(); hosts != nullptr) query.hosts_in_order = hosts->in_order();
  if (call.segment != nullptr) {
    query.sharing = call.segment->sharing();
    query.data_slot_bytes = call.segment->data_slot_bytes();
    query.oversubscribed = call.segment->oversubscribed();
  }
  query.devices = exchange.agreed;
  query.alike = call.members->alike();
  // The exchange has used the operation's flag lines, so only a device algorithm or messages can be used.
  if (exchange.done) query.sharing = Sharing::kNone;
  return query;
}

[[gnu::noinline, gnu::cold]] void set_sparse_sizes(const View& vector, PlanKey* key) noexcept {
  key->span = typed_bytes(vector.count, *vector.type);
  key->element = typed_bytes(1, *vector.type);
}

// Returns the key of a call, composed of the parts that query_of() uses. Everything else is the same for all calls of
// the members until the segment changes.
PlanKey key_of(const Call& call, AddressExchange exchange) noexcept {
  PlanKey key;
  key.bytes = call.bytes;
  key.kind = static_cast<std::uint32_t>(call.operation) << 8 | (call.in_place ? 1 : 0) | (exchange.agreed ? 2 : 0) |
             (exchange.done ? 4 : 0) | (call.segment != nullptr ? 8 : 0) | (call.persistent ? 16 : 0);
  if (call.op != nullptr) {
    const View& vector = contribution(call);
    key.kind |= call.op->commutative() ? 32 : 0;
    key.span = vector.packed;
    key.element = static_cast<std::size_t>(vector.type->size());
    if (!vector.contiguous || vector.type->true_lb() != 0) [[unlikely]]
      set_sparse_sizes(vector, &key);
  }
  return key;
}

const Algorithm* select_for(const Call& call, Status* status, AddressExchange exchange) {
  const Algorithm* algorithm = select(query_of(call, exchange));
  if (algorithm == nullptr) {
    *status = fail(Errc::kUnsupportedOperation, "no algorithm of %s serves %s", name(call.operation),
                   call.members->is_inter() ? "an intercommunicator" : "these arguments");
  }
  return algorithm;
}

[[gnu::noinline, gnu::cold]] const Algorithm* make_plan(const Call& call, const PlanKey& key, Status* status,
                                                        AddressExchange exchange) {
  const Algorithm* algorithm = select_for(call, status, exchange);
  if (algorithm != nullptr) call.members->plans().keep(key, algorithm);
  return algorithm;
}

Task failed(Status status) { co_return status; }

// A separate function, so that execute() saves no registers for it.
[[gnu::noinline, gnu::cold]] Task execute_first(const Call& call, const Algorithm* algorithm, Buffers buffers) {
  static_cast<void>(detail::make_state());
  return execute(call, algorithm, buffers);
}

}  // namespace

bool nothing_to_do(const Call& call) noexcept {
  return call.bytes == 0 && (kAgreedSize & serves(call.operation)) != 0 && !call.members->is_inter();
}

int length_of(const Call& call, const Blocks& blocks) {
  if (blocks.shape() == Blocks::Shape::kConsecutive) return call.size();  // reduce_scatter: of the own group
  if (call.operation < Operation::kNeighborAllgather) return call.peers();
  const comm::Topology::Neighbors neighbors = call.members->topology().neighbors(call.rank());
  return static_cast<int>(&blocks == &call.send ? neighbors.destinations.size() : neighbors.sources.size());
}

std::optional<mem::Location> location_of(const Call& call, const Blocks& blocks) {
  if (blocks.none()) return std::nullopt;
  const bool whole = blocks.shape() == Blocks::Shape::kUniform || blocks.shape() == Blocks::Shape::kConsecutive;
  const int length = whole ? 0 : length_of(call, blocks);
  for (int i = 0; i < length; ++i) {
    if (blocks.bytes(i) == 0) continue;
    View view;
    return blocks.block(i, &view).ok() ? view.where : mem::Location{};
  }
  if (!whole || blocks.all().packed == 0) return std::nullopt;
  return blocks.all().where;
}

DataKind data_kind_of(const Call& call, const Blocks& blocks) {
  if (blocks.none()) return DataKind::kNothing;
  if (!mem::maybe_device()) return DataKind::kHostData;
  const std::optional<mem::Location> where = location_of(call, blocks);
  if (!where) return DataKind::kNothing;
  return where->is_device() ? DataKind::kDeviceData : DataKind::kHostData;
}

bool never_on_devices(const Call& call) noexcept {
  constexpr std::uint32_t kAlltoalls = serves(Operation::kAlltoall, Operation::kAlltoallv, Operation::kAlltoallw);
  return call.operation == Operation::kBarrier || (call.in_place && (kAlltoalls & serves(call.operation)) != 0);
}

const Algorithm* choose(const Call& call, Status* status, AddressExchange exchange) {
  const PlanKey key = key_of(call, exchange);
  const Algorithm* planned = call.members->plans().find(key);
  return planned != nullptr ? planned : make_plan(call, key, status, exchange);
}

const Algorithm* choose_apart(const Call& call, Status* status) { return select_for(call, status, {}); }

namespace {

Task begin(const Call& call, const Algorithm* algorithm, bool through_pinned) {
  return through_pinned ? device::through_pinned(call, algorithm) : algorithm->run(call);
}

Task begin_later(const Call& call, const Algorithm* algorithm, bool through_pinned) {
  shared::NextRound next;
  const p2p::When later = shared::when(next);
  co_await later;
  Task inner = begin(call, algorithm, through_pinned);
  const Status status = co_await inner;
  co_return status;
}

bool has_holes(const Call& call, const Blocks& blocks) {
  return data_kind_of(call, blocks) == DataKind::kDeviceData && blocks.all().packed != 0 && !blocks.all().contiguous;
}

// True if the operation copies device data synchronously as it begins: blocks to the process itself, packed forms,
// copies with holes. False for algorithms on devices, and for copies of contiguous data through pinned memory.
bool copies_at_once(const Call& call, const Algorithm* algorithm, bool through_pinned) {
  if (!mem::maybe_device() || algorithm->devices || algorithm->composes) return false;
  if (through_pinned) return has_holes(call, call.send) || has_holes(call, call.recv);
  return data_kind_of(call, call.send) == DataKind::kDeviceData ||
         data_kind_of(call, call.recv) == DataKind::kDeviceData;
}

[[gnu::noinline]] Task execute_beside_devices(const Call& call, const Algorithm* algorithm, Buffers buffers) {
  const bool reduces_on_host = call.op != nullptr && !algorithm->devices && !algorithm->composes &&
                               (on_device(call.send) || on_device(call.recv));
  const bool through_pinned = reduces_on_host || buffers == Buffers::kPinned;
  if (!call.blocking && copies_at_once(call, algorithm, through_pinned)) [[unlikely]]
    return begin_later(call, algorithm, through_pinned);
  return begin(call, algorithm, through_pinned);
}

}  // namespace

Task execute(const Call& call, const Algorithm* algorithm, Buffers buffers) {
  if (detail::current_state == nullptr) [[unlikely]]
    return execute_first(call, algorithm, buffers);
  detail::current_state->algorithm_indexes.count(algorithm, call.operation, call.bytes);
  if (mem::maybe_device() || buffers != Buffers::kInPlace) return execute_beside_devices(call, algorithm, buffers);
  return algorithm->run(call);
}

Task execute_by_messages(const Call& call) {
  Status status = kOk;
  const Algorithm* algorithm = choose(call, &status);
  return algorithm != nullptr ? execute(call, algorithm) : failed(status);
}

}  // namespace hr::coll
