// From a Call to a task: the choice of the algorithm, staging of device buffers for reductions, and the three forms.
#include <memory>
#include <vector>

#include "coll/algorithm.hpp"
#include "coll/coll.hpp"
#include "coll/messages.hpp"
#include "coll/select.hpp"
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

Query query_of(const Call& call) noexcept {
  Query query;
  query.operation = call.operation;
  query.bytes = call.bytes;
  query.ranks = call.size();
  query.commutative = call.op == nullptr || call.op->commutative();
  query.inter = call.comm->is_inter();
  query.in_place = call.in_place;
  if (on_device(call.send) || on_device(call.recv)) query.memory = mem::Kind::kDevice;
  return query;
}

Task failed(Status status) { co_return status; }

Task begin(const Call& call) {
  if (nothing_to_do(call)) return {};
  const Query query = query_of(call);
  const Algorithm* algorithm = select(query);
  if (algorithm == nullptr) {
    return failed(fail(Errc::kUnsupportedOperation, "no algorithm of %s serves %s", name(call.operation),
                       query.inter ? "an intercommunicator" : "these arguments"));
  }
  if (call.op != nullptr && query.memory == mem::Kind::kDevice) return staged(call, algorithm);
  return algorithm->run(call);
}

// A call that outlives its function: its own copy, with references to what it uses (sections 6.12, 6.13).
class PendingCall final : public p2p::TaskFactory {
 public:
  explicit PendingCall(const Call& call) : call_(call), comm_(Ref<Communicator>::share(call.comm)) {
    op_ = Ref<Op>::share(call.op);
    keep(call_.send, neighbors_out(), send_types_);
    keep(call_.recv, neighbors_in(), recv_types_);
  }
  Task make() override { return begin(call_); }
  [[nodiscard]] const char* what() const noexcept override { return name(call_.operation); }

 private:
  using TypeList = std::vector<Datatype*>;

  // Arrays of types belong to the entry point: they are copied.
  void keep(Blocks& blocks, int length, TypeList& list) {
    if (blocks.none()) return;
    if (blocks.shape() != Blocks::Shape::kTypes) length = 1;
    for (int i = 0; i < length; ++i) {
      list.push_back(&blocks.type(i));
      types_.push_back(Ref<Datatype>::share(list.back()));
    }
    if (blocks.shape() == Blocks::Shape::kTypes) blocks.set_types(list.data());
  }
  [[nodiscard]] int neighbors_out() const {
    if (call_.operation != Operation::kNeighborAlltoallw) return call_.peers();
    return static_cast<int>(comm_->topology_->neighbors(call_.rank()).destinations.size());
  }
  [[nodiscard]] int neighbors_in() const {
    if (call_.operation != Operation::kNeighborAlltoallw) return call_.peers();
    return static_cast<int>(comm_->topology_->neighbors(call_.rank()).sources.size());
  }

  Call call_;
  Ref<Communicator> comm_;
  Ref<Op> op_;
  TypeList send_types_;
  TypeList recv_types_;
  std::vector<Ref<Datatype>> types_;
};

}  // namespace

Status run(Call& call) {
  call.tag = call.comm->next_collective_tag();
  return p2p::run_blocking(begin(call));
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
  return p2p::task_init(std::make_unique<PendingCall>(call), call.comm, request);
}

}  // namespace hr::coll
