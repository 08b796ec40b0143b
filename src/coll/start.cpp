// Makes a Call a task: enqueues it in the communicator's sequence, waits for its turn; the three forms.
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

namespace hr::coll {
namespace {

using p2p::Task;

struct HasTurn {
  const Call& call;
  bool operator()() const noexcept { return call.segment->is_turn_of(call.sequence_number); }
};

// From this many bytes on a non-blocking operation is not begun in its call while a thread watches: the last member to
// come finds all data there, and would copy it in its program's time.
constexpr std::size_t kLeftToThread = 16384;
bool defers_to_thread(const Call& call) noexcept {
  return !call.blocking && call.bytes >= kLeftToThread && p2p::progress_thread::is_watching();
}

// Called in the operation's turn, with flag lines.
bool begins_with_address_exchange(const Call& call) {
  if (mem::maybe_device() && !call.segment->address_exchange_requested() &&
      (data_kind_of(call, call.send) == DataKind::kDeviceData ||
       data_kind_of(call, call.recv) == DataKind::kDeviceData))
    call.segment->request_address_exchange();
  return call.segment->begins_with_address_exchange(call.sequence_number) && !never_on_devices(call);
}

// Decides, in the operation's turn, what it does next. Asks one after the other: must the flag lines be opened, must
// device addresses be exchanged, which algorithm serves, must the part be opened that this one needs. Returns at the
// first step that takes messages, and asks again once that is done.
struct Decision {
  enum class Next : std::uint8_t { kExecute, kOpen, kExchange, kFail };
  Sharing part = Sharing::kFlagLines;  // kOpen: this one
  AddressExchange exchange;
  Buffers buffers = Buffers::kInPlace;
  const Algorithm* algorithm = nullptr;  // kExecute
  Status status = kOk;                   // kFail

  Next ask(const Call& call) {
    shared::Segment& segment = *call.segment;
    if (!segment.is_open(part) && part <= segment.sharing()) [[unlikely]]
      return Next::kOpen;
    if (!exchange.done && buffers != Buffers::kPinned && segment.is_open(Sharing::kFlagLines) &&
        begins_with_address_exchange(call)) {
      if (!segment.device_buffers().time_sliced() || !device::pinned_pays(call)) return Next::kExchange;
      if (device::fits_pinned(call)) buffers = Buffers::kPinned;
    }
    Status why = kOk;
    algorithm = choose(call, &why, exchange);
    if (algorithm == nullptr) [[unlikely]] {
      status = why;
      return Next::kFail;
    }
    part = algorithm->needs;
    return segment.is_open(part) ? Next::kExecute : Next::kOpen;
  }
};

// Waits for the operation's turn, and does what the decision asks for.
Task execute_in_turn(const Call& call) {
  shared::Segment& segment = *call.segment;
  shared::NextRound next;
  if (defers_to_thread(call)) co_await shared::when(next);
  HasTurn has_turn{call};
  HR_CO_UNTIL(call, has_turn);
  TurnGuard turn(segment);
  Decision decision;
  for (;;) {
    const Decision::Next what = decision.ask(call);
    if (what == Decision::Next::kExecute) break;
    if (what == Decision::Next::kFail) co_return decision.status;
    if (what == Decision::Next::kOpen) {
      Task opening = segment.open(decision.part);
      const Status opened = co_await opening;
      call.members->plans().clear();  // the memory that they share has changed
      if (!opened.ok()) co_return opened;
    } else {
      decision.exchange.done = true;
      Task exchanging = segment.device_buffers().exchange(call);
      HR_CO_TRY(co_await exchanging);
      decision.exchange.agreed = segment.device_buffers().agreed();
    }
  }
  if (decision.algorithm->needs == Sharing::kNone) turn.end_turn();
  Task inner = execute(call, decision.algorithm, decision.buffers);
  const Status status = co_await inner;
  co_return status;
}

void tell(events::Event event, const Call& call, std::initializer_list<std::int64_t> more) {
  std::int64_t elements[events::kMostElements] = {static_cast<std::int64_t>(call.operation), call.comm->context(),
                                                  static_cast<std::int64_t>(call.bytes), call.size()};
  std::size_t count = 4;
  for (const std::int64_t each : more) elements[count++] = each;
  if (events::wanted(event)) events::detail::sink(event, {elements, count});
}

// Operations through shared memory need no round of progress: a loop of them would starve other processes that want
// something of this one.
constexpr unsigned kCallsPerTurn = 32;
constinit unsigned calls_to_turn = kCallsPerTurn;
void take_turn() {
  if (--calls_to_turn != 0) [[likely]]
    return;
  calls_to_turn = kCallsPerTurn;
  p2p::poll();
}

// Runs an operation while tools are told of its beginning and its end.
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

// Begins a blocking or non-blocking operation.
Task begin(Call& call) {
  if (events::wanted()) [[unlikely]]
    return begin_with_events(call);
  if (nothing_to_do(call)) return {};
  enqueue(call);
  return execute_enqueued(call);
}

// Call that outlives its function: a copy of its own, with references to what it uses (sections 6.12, 6.13).
class PendingCall final : public p2p::TaskFactory {
 public:
  explicit PendingCall(const Call& call)
      : call_(call), comm_(Ref<Communicator>::share(call.comm)), op_(Ref<Op>::share(call.op)) {
    keep(call_.send, send_);
    keep(call_.recv, recv_);
  }
  // Not for persistent calls.
  Task begin_now() { return begin(call_); }
  Task make() override {
    return events::wanted() ? start_with_events(&persistence_, &call_) : persistence_.begin(call_);
  }
  [[nodiscard]] const char* what() const noexcept override { return name(call_.operation); }

 private:
  // Argument arrays of one buffer. The standard lets us borrow counts and displacements until completion, but some
  // clients drop them earlier (mpi4py 4.1, Allgatherv_init); types belong to the entry point anyway.
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

void enqueue(Call& call) {
  call.segment = shared::segment_for(call);
  if (call.segment != nullptr) call.sequence_number = call.segment->take_sequence_number();
}

Task execute_enqueued(const Call& call) {
  return call.segment != nullptr ? execute_in_turn(call) : execute_by_messages(call);
}

Status run(Call& call) {
  take_turn();
  call.tag = call.comm->next_collective_tag();
  call.blocking = true;
  if (events::wanted()) [[unlikely]] {
    if (call_checker != nullptr) HR_TRY(call_checker(call));
    return p2p::run_blocking(begin_with_events(call));
  }
  if (nothing_to_do(call)) return kOk;
  enqueue(call);
  if (call.segment == nullptr) return p2p::run_blocking(execute_by_messages(call));
  // The common case, without a coroutine round the algorithm's.
  Decision decision;
  if (!call.segment->is_turn_of(call.sequence_number) || decision.ask(call) != Decision::Next::kExecute)
    return p2p::run_blocking(execute_in_turn(call));
  TurnGuard turn(*call.segment);
  if (decision.algorithm->needs == Sharing::kNone) turn.end_turn();
  return p2p::run_blocking(execute(call, decision.algorithm, decision.buffers));
}

Status start(Call& call, p2p::Request** request) {
  call.tag = call.comm->next_nonblocking_tag();
  call.members = &members_of(*call.comm, Sequence::kNonblocking);
  auto pending = std::make_unique<PendingCall>(call);
  if (events::wanted()) [[unlikely]]
    if (call_checker != nullptr) HR_TRY(call_checker(call));
  Task task = pending->begin_now();
  return p2p::run_as_request(std::move(task), std::move(pending), call.comm, request);
}

// Every start has the tag of the request: starts of one request follow one another, and messages between two
// processes match in order, so that the starts of different requests may come in any order.
Status init(Call& call, p2p::Request** request) {
  call.tag = call.comm->next_collective_tag();
  call.persistent = true;
  if (call_checker != nullptr) HR_TRY(call_checker(call));
  return p2p::task_init(std::make_unique<PendingCall>(call), call.comm, request);
}

}  // namespace hr::coll
