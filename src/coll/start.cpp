// From a Call to a task: its place in the communicator's sequence, the choice of the algorithm, staging of device
// buffers for reductions, and the three forms.
#include <memory>
#include <vector>

#include "coll/algorithm.hpp"
#include "coll/coll.hpp"
#include "coll/device/members.hpp"
#include "coll/reduction.hpp"
#include "coll/select.hpp"
#include "coll/shared/wait.hpp"
#include "coll/view_tools.hpp"

namespace hr::coll {
namespace {

// Operations whose Call::bytes is 0 on all processes when it is on one: nothing moves, so nothing need be sent.
constexpr std::uint32_t kAgreedSize =
    serves(Operation::kBcast, Operation::kGather, Operation::kScatter, Operation::kAllgather, Operation::kAlltoall,
           Operation::kReduce, Operation::kAllreduce, Operation::kReduceScatter, Operation::kReduceScatterBlock,
           Operation::kScan, Operation::kExscan);

bool nothing_to_do(const Call& call) noexcept {
  return call.bytes == 0 && (kAgreedSize & serves(call.operation)) != 0 && !call.comm->is_inter();
}

bool on_device(const Blocks& blocks) noexcept { return !blocks.none() && blocks.all().where.is_device(); }

// What the algorithm sees instead of a device buffer: host memory of the same layout.
Blocks staged_blocks(const Blocks& device, const View& host) noexcept {
  View view = device.all();
  view.address = host.address;
  view.where = {};
  return device.moved_to(view);
}

// A reduction with a device buffer runs on host copies. The user's operations get host memory, too.
p2p::Task staged(const Call& call, const Algorithm* algorithm) {
  Call host = call;
  const bool send = on_device(call.send);
  const bool recv = on_device(call.recv);
  TypedScratch send_copy(send ? call.send.all().count : 0, *(send ? call.send : call.recv).all().type);
  TypedScratch recv_copy(recv ? call.recv.all().count : 0, *(recv ? call.recv : call.send).all().type);
  if (send) {
    HR_CO_TRY(layout::copy(call.send.all(), send_copy.view()));
    host.send = staged_blocks(call.send, send_copy.view());
  }
  if (recv) {
    // Also what the operation leaves as it is: the operand in place, exscan's result on rank 0.
    HR_CO_TRY(layout::copy(call.recv.all(), recv_copy.view()));
    host.recv = staged_blocks(call.recv, recv_copy.view());
  }
  Task inner = algorithm->run(host);
  const Status status = co_await inner;
  if (!status.ok()) co_return status;
  if (recv) HR_CO_TRY(layout::copy(recv_copy.view(), call.recv.all()));
  co_return kOk;
}

// Whether the operation began with an exchange of device buffers, and what came of it.
struct DeviceMode {
  bool on = false;
  bool agreed = false;
};

Query query_of(const Call& call, DeviceMode mode = {}) noexcept {
  Query query;
  query.operation = call.operation;
  query.bytes = call.bytes;
  query.ranks = call.size();
  query.inter = call.comm->is_inter();
  query.in_place = call.in_place;
  if (on_device(call.send) || on_device(call.recv)) query.memory = mem::Kind::kDevice;
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
    query.readable = call.area->readable();
  }
  query.devices = mode.agreed;
  // The exchange has taken the operation's cells: what follows is a device algorithm, or goes through messages.
  if (mode.on) query.sharing = Sharing::kNone;
  return query;
}

// nullptr with the error recorded.
const Algorithm* choose(const Call& call, Status* status, DeviceMode mode = {}) {
  const Algorithm* algorithm = select(query_of(call, mode));
  if (algorithm == nullptr) [[unlikely]] {
    *status = fail(Errc::kUnsupportedOperation, "no algorithm of %s serves %s", name(call.operation),
                   call.comm->is_inter() ? "an intercommunicator" : "these arguments");
  }
  return algorithm;
}

Task carry_out(const Call& call, const Algorithm* algorithm) {
  if (call.op != nullptr && !algorithm->devices && (on_device(call.send) || on_device(call.recv))) [[unlikely]]
    return staged(call, algorithm);
  return algorithm->run(call);
}

// An operation's turn in its area (shared/area.hpp). Gives it up when it goes out of scope, at the latest.
class Turn {
 public:
  explicit Turn(shared::Area& area) noexcept : area_(&area) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { leave(); }
  void leave() noexcept {
    if (area_ != nullptr) area_->leave();
    area_ = nullptr;
  }

 private:
  shared::Area* area_;
};

struct TurnCame {
  const Call& call;
  bool operator()() const noexcept { return call.area->is_turn(call.ticket); }
};

// Nobody goes on from these before rank 0 has entered them, where they block: a pending one that goes by messages gives
// up its turn at once.
constexpr std::uint32_t kSynchronizes = serves(Operation::kBarrier, Operation::kAllgather, Operation::kAlltoall,
                                               Operation::kAllreduce, Operation::kReduceScatterBlock);

// Those with algorithms for devices.
constexpr std::uint32_t kForDevices =
    serves(Operation::kBcast, Operation::kGather, Operation::kScatter, Operation::kAllgather, Operation::kAlltoall,
           Operation::kReduce, Operation::kAllreduce, Operation::kReduceScatter, Operation::kReduceScatterBlock,
           Operation::kScan, Operation::kExscan);

// In the operation's turn, with cells.
bool in_device_mode(const Call& call) {
  if (on_device(call.send) || on_device(call.recv)) [[unlikely]]
    call.area->want_devices();
  const bool synchronizes = call.blocking && (kSynchronizes & serves(call.operation)) != 0;
  return call.area->device_mode(call.ticket, synchronizes) && (kForDevices & serves(call.operation)) != 0;
}

// Waits for the turn, opens what is needed. The algorithm is chosen when it is certain what there is.
Task in_turn(const Call& call) {
  shared::Area& area = *call.area;
  TurnCame came{call};
  HR_CO_UNTIL(call, came);
  Turn turn(area);
  Status status = kOk;
  const Algorithm* algorithm = nullptr;
  DeviceMode mode;
  for (Sharing part = Sharing::kCells;; part = algorithm->needs) {
    if (part <= area.sharing() && !area.is_open(part)) {
      Task opening = area.open(part);
      HR_CO_TRY(co_await opening);
    }
    if (!mode.on && area.is_open(Sharing::kCells) && in_device_mode(call)) {
      mode.on = true;
      Task exchanging = area.members().exchange(call);
      HR_CO_TRY(co_await exchanging);
      mode.agreed = area.members().agreed();
    }
    algorithm = choose(call, &status, mode);
    if (algorithm == nullptr) co_return status;
    if (area.is_open(algorithm->needs)) break;
  }
  if (algorithm->needs == Sharing::kNone) turn.leave();
  Task inner = carry_out(call, algorithm);
  status = co_await inner;
  co_return status;
}

Task failed(Status status) { co_return status; }

// Any form: a task that need not start in its turn.
Task begin(Call& call) {
  if (nothing_to_do(call)) return {};
  call.area = shared::area_for(call);
  if (call.area != nullptr) {
    call.ticket = call.area->draw_ticket();
    return in_turn(call);
  }
  Status status = kOk;
  const Algorithm* algorithm = choose(call, &status);
  return algorithm != nullptr ? carry_out(call, algorithm) : failed(status);
}

// How many blocks the arrays of a buffer describe.
int length_of(const Call& call, const Blocks& blocks) {
  if (blocks.shape() == Blocks::Shape::kConsecutive) return call.size();  // reduce_scatter: the own group's
  if (call.operation < Operation::kNeighborAllgather) return call.peers();
  const comm::Topology::Neighbors neighbors = call.comm->topology_->neighbors(call.rank());
  return static_cast<int>(&blocks == &call.send ? neighbors.destinations.size() : neighbors.sources.size());
}

// A call that outlives its function: its own copy, with references to what it uses (sections 6.12, 6.13).
class PendingCall final : public p2p::TaskFactory {
 public:
  explicit PendingCall(const Call& call)
      : call_(call), comm_(Ref<Communicator>::share(call.comm)), op_(Ref<Op>::share(call.op)) {
    keep(call_.send, send_);
    keep(call_.recv, recv_);
  }
  Task make() override { return begin(call_); }
  [[nodiscard]] const char* what() const noexcept override { return name(call_.operation); }

 private:
  // The argument arrays of one buffer. The standard lets us borrow counts and displacements until completion, but
  // clients that drop them earlier exist (mpi4py 4.1, Allgatherv_init); types belong to the entry point anyway.
  struct Arrays {
    std::vector<Count> counts, displacements;
    std::vector<Datatype*> types;
    std::vector<Ref<Datatype>> references;
  };

  void keep(Blocks& blocks, Arrays& arrays) {
    if (blocks.none()) return;
    if (blocks.shape() == Blocks::Shape::kUniform) {
      arrays.references.push_back(Ref<Datatype>::share(&blocks.type(0)));
      return;
    }
    const int length = length_of(call_, blocks);
    const bool displaced = !blocks.displacements().is_null();
    const bool typed = blocks.shape() == Blocks::Shape::kTypes;
    for (int i = 0; i < length; ++i) {
      const auto index = static_cast<std::size_t>(i);
      arrays.counts.push_back(blocks.counts()[index]);
      if (displaced) arrays.displacements.push_back(blocks.displacements()[index]);
      if (typed) arrays.types.push_back(&blocks.type(i));
      if (typed || i == 0) arrays.references.push_back(Ref<Datatype>::share(&blocks.type(i)));
    }
    blocks.set_arrays(arrays.counts.data(), arrays.displacements.data(), arrays.types.data());
  }

  Call call_;
  Ref<Communicator> comm_;
  Ref<Op> op_;
  Arrays send_;
  Arrays recv_;
};

}  // namespace

Status run(Call& call) {
  call.tag = call.comm->next_collective_tag();
  call.blocking = true;
  if (nothing_to_do(call)) return kOk;
  call.area = shared::area_for(call);
  Status status = kOk;
  if (call.area != nullptr) {
    call.ticket = call.area->draw_ticket();
    // The common case, without a coroutine round the algorithm's.
    const bool ready = call.area->is_turn(call.ticket) && call.area->is_open(Sharing::kCells) && !in_device_mode(call);
    const Algorithm* algorithm = ready ? choose(call, &status) : nullptr;
    if (algorithm == nullptr || !call.area->is_open(algorithm->needs)) return p2p::run_blocking(in_turn(call));
    Turn turn(*call.area);
    if (algorithm->needs == Sharing::kNone) turn.leave();
    return p2p::run_blocking(carry_out(call, algorithm));
  }
  const Algorithm* algorithm = choose(call, &status);
  return algorithm != nullptr ? p2p::run_blocking(carry_out(call, algorithm)) : status;
}

Status start(Call& call, p2p::Request** request) {
  call.tag = call.comm->next_collective_tag();
  auto pending = std::make_unique<PendingCall>(call);
  Task task = pending->make();
  return p2p::run_as_request(std::move(task), std::move(pending), call.comm, request);
}

// Every start has the tag of the request: starts of one request follow one another, and messages between two
// processes match in order, so that the starts of different requests may come in any order.
Status init(Call& call, p2p::Request** request) {
  call.tag = call.comm->next_collective_tag();
  call.persistent = true;
  return p2p::task_init(std::make_unique<PendingCall>(call), call.comm, request);
}

}  // namespace hr::coll
