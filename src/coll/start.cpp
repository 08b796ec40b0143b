// Implements the three forms of operations: executes a Call as a task, which is enqueued in the communicator's sequence
// and waits for its turn.
#include <memory>
#include <utility>
#include <vector>

#include "base/events.hpp"
#include "coll/coll.hpp"
#include "coll/device/buffers.hpp"
#include "coll/device/through_pinned.hpp"
#include "coll/execute.hpp"
#include "coll/persistence.hpp"
#include "coll/shared/wait.hpp"
#include "p2p/progress.hpp"
#include "p2p/progress_thread.hpp"
#include "p2p/turns.hpp"

namespace hr::coll {
namespace {

using p2p::Task;

struct HasTurn {
  const Call& call;
  bool operator()() const noexcept { return call.segment->is_turn_of(call.sequence_number); }
};

// Number of bytes from which a non-blocking operation is not started in its call if a progress thread is watching: the
// last member to arrive would find all data present, and would copy it within the call.
constexpr std::size_t kLeftToThread = 16384;
bool defers_to_thread(const Call& call) noexcept {
  return !call.blocking && call.bytes >= kLeftToThread && p2p::progress_thread::is_watching();
}

// Must be called in the operation's turn, with flag lines open.
bool begins_with_address_exchange(const Call& call) {
  if (mem::maybe_device() && !call.segment->address_exchange_requested() &&
      (data_kind_of(call, call.send) == DataKind::kDeviceData ||
       data_kind_of(call, call.recv) == DataKind::kDeviceData))
    call.segment->request_address_exchange();
  return call.segment->begins_with_address_exchange(call.sequence_number) && !never_on_devices(call);
}

// Waits for the operation's turn, and opens the parts that it needs. Chooses the algorithm once it is certain which
// parts are available.
Task execute_in_turn(const Call& call) {
  shared::Segment& segment = *call.segment;
  shared::NextRound next;
  if (defers_to_thread(call)) co_await shared::when(next);
  HasTurn has_turn{call};
  HR_CO_UNTIL(call, has_turn);
  TurnGuard turn(call);
  Status status = kOk;
  const Algorithm* algorithm = nullptr;
  AddressExchange exchange;
  Buffers buffers = Buffers::kInPlace;
  for (Sharing part = Sharing::kFlagLines;; part = algorithm->needs) {
    if (part <= segment.sharing() && !segment.is_open(part)) {
      Task opening = segment.open(part);
      const Status opened = co_await opening;
      call.members->plans().clear();  // the memory that the members share has changed
      if (!opened.ok()) co_return opened;
    }
    if (exchange.done || buffers == Buffers::kPinned || !segment.is_open(Sharing::kFlagLines) ||
        !begins_with_address_exchange(call)) {
      // nothing to decide
    } else if (segment.device_buffers().time_sliced() ? device::pinned_pays(call)
                                                      : device::short_enough_for_pinned(call)) {
      device::DeviceBuffers::find_sharers(call);
      if (device::fits_pinned(call)) buffers = Buffers::kPinned;
    } else {
      exchange.done = true;
      Task exchanging = segment.device_buffers().exchange(call);
      HR_CO_TRY(co_await exchanging);
      exchange.agreed = segment.device_buffers().agreed();
    }
    algorithm = choose(call, &status, exchange);
    if (algorithm == nullptr) co_return status;
    if (segment.is_open(algorithm->needs)) break;
  }
  if (algorithm->needs == Sharing::kNone) turn.end_turn();
  Task inner = execute(call, algorithm, buffers);
  status = co_await inner;
  co_return status;
}

void tell(events::Event event, const Call& call, std::initializer_list<std::int64_t> more) {
  std::int64_t elements[events::kMostElements] = {static_cast<std::int64_t>(call.operation), call.comm->context(),
                                                  static_cast<std::int64_t>(call.bytes), call.size()};
  std::size_t count = 4;
  for (const std::int64_t each : more) elements[count++] = each;
  if (events::wanted(event)) events::detail::sink(event, {elements, count});
}

// Runs an operation, and reports its start and end to tools.
Task execute_with_events(const Call* call) {
  tell(events::Event::collective_begun, *call, {});
  Task inner = nothing_to_do(*call) ? Task{} : execute_enqueued(*call);
  const Status status = co_await inner;
  tell(events::Event::collective_ended, *call, {status.code()});
  co_return status;
}

Task start_with_events(Persistence* persistence, Call* call) {
  tell(events::Event::collective_begun, *call, {});
  Task inner = persistence->begin(*call);
  const Status status = co_await inner;
  tell(events::Event::collective_ended, *call, {status.code()});
  co_return status;
}

Task begin_with_events(Call& call) {
  if (!nothing_to_do(call)) enqueue(call);
  return execute_with_events(&call);
}

// Starts a blocking or non-blocking operation.
Task begin(Call& call) {
  if (events::wanted()) [[unlikely]]
    return begin_with_events(call);
  if (nothing_to_do(call)) return {};
  enqueue(call);
  return execute_enqueued(call);
}

// A call that outlives its function: a copy that holds references to the objects that it uses (sections 6.12, 6.13).
class PendingCall final : public p2p::TaskFactory {
 public:
  explicit PendingCall(const Call& call)
      : call_(call), comm_(Ref<Communicator>::share(call.comm)), op_(Ref<Op>::share(call.op)) {
    keep(call_.send, send_);
    keep(call_.recv, recv_);
    if (call_.persistent) persistence_.claim_memory(call_);
  }
  // Begins the call; not for persistent calls.
  Task begin_now() { return begin(call_); }
  Task make() override {
    return events::wanted() ? start_with_events(&persistence_, &call_) : persistence_.begin(call_);
  }
  [[nodiscard]] const char* what() const noexcept override { return name(call_.operation); }
  void become_independent() override { call_.become_independent(); }
  [[nodiscard]] const Call& call() const noexcept { return call_; }

 private:
  // Argument arrays of one buffer. The standard permits borrowing counts and displacements until completion, but some
  // clients free them earlier (mpi4py 4.1, Allgatherv_init); the array of types belongs to the entry point in any case.
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
  Persistence persistence_;
};

}  // namespace

namespace {

// An operation on a communicator with a stream is ordered after the work of that stream only. The operations that the
// stream itself starts are independent already.
[[gnu::cold, gnu::noinline]] Status come_after_stream(Call& call) {
  if (call.independent) return kOk;
  call.become_independent();
  return call.comm->stream_->synchronize();
}

}  // namespace

void enqueue(Call& call) {
  call.segment = shared::segment_for(call);
  if (call.segment != nullptr) call.sequence_number = call.segment->take_sequence_number();
}

Task execute_enqueued(const Call& call) {
  return call.segment != nullptr ? execute_in_turn(call) : execute_by_messages(call);
}

Status run(Call& call) {
  if (call.comm->stream_ != nullptr) [[unlikely]]
    HR_TRY(come_after_stream(call));
  p2p::take_turn();  // operations through shared memory need no progress
  call.tag = call.comm->next_collective_tag();
  call.blocking = true;
  if (events::wanted()) [[unlikely]] {
    if (call_checker != nullptr) HR_TRY(call_checker(call));
    return p2p::run_blocking(begin_with_events(call));
  }
  if (call.bytes == 0 && nothing_to_do(call)) return kOk;
  enqueue(call);
  if (call.segment == nullptr) return p2p::run_blocking(execute_by_messages(call));
  // The common case, without a second coroutine around the algorithm's.
  Status status = kOk;
  const bool ready = call.segment->is_turn_of(call.sequence_number) && call.segment->is_open(Sharing::kFlagLines) &&
                     !begins_with_address_exchange(call);
  const Algorithm* algorithm = ready ? choose(call, &status) : nullptr;
  if (algorithm == nullptr || !call.segment->is_open(algorithm->needs)) return p2p::run_blocking(execute_in_turn(call));
  TurnGuard turn(call);
  if (algorithm->needs == Sharing::kNone) turn.end_turn();
  return p2p::run_blocking(execute(call, algorithm));
}

Status start(Call& call, p2p::Request** request) {
  if (call.comm->stream_ != nullptr) [[unlikely]]
    HR_TRY(come_after_stream(call));
  call.tag = call.comm->next_nonblocking_tag();
  call.members = &members_of(*call.comm, Sequence::kNonblocking);
  auto pending = std::make_unique<PendingCall>(call);
  if (events::wanted()) [[unlikely]]
    if (call_checker != nullptr) HR_TRY(call_checker(call));
  Task task = pending->begin_now();
  return p2p::run_as_request(std::move(task), std::move(pending), call.comm, request);
}

// All starts use the tag of the request: starts of one request follow one another, and messages between two processes
// match in order. So different requests may be started in any order.
Status init(Call& call, p2p::Request** request) {
  call.tag = call.comm->next_collective_tag();
  call.persistent = true;
  if (call_checker != nullptr) HR_TRY(call_checker(call));
  return p2p::task_init(std::make_unique<PendingCall>(call), call.comm, request);
}

const Call* call_of(const p2p::Request& request) noexcept {
  const auto* const pending = dynamic_cast<const PendingCall*>(p2p::factory_of(request));
  return pending == nullptr ? nullptr : &pending->call();
}

}  // namespace hr::coll
