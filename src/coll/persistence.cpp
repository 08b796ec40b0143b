#include "coll/persistence.hpp"

#include <utility>

#include "base/knobs.hpp"
#include "coll/device/buffers.hpp"
#include "coll/device/through_pinned.hpp"
#include "coll/execute.hpp"
#include "coll/state.hpp"

namespace hr::coll {
namespace {

using p2p::Task;

// Most requests of a process with a segment for operations in host memory (ADR 6).
constexpr int kMostOwnSegments = 4;

}  // namespace

void Persistence::claim_memory(const Call& call) {
  if (!call.members->can_share() || call.operation >= Operation::kNeighborAllgather) return;
  if (state().own_segments >= kMostOwnSegments) return;
  ++state().own_segments;
  claimed_ = true;
}

void Persistence::give_back() noexcept {
  if (std::exchange(claimed_, false) && detail::current_state != nullptr) --state().own_segments;
}

Task Persistence::decide_on_devices(const Call& call) {
  shared::Segment& segment = *call.segment;
  const bool host =
      data_kind_of(call, call.send) == DataKind::kHostData || data_kind_of(call, call.recv) == DataKind::kHostData;
  std::uint64_t all_on_devices = host ? 0 : 1;
  Task agreeing = segment.agree(&all_on_devices);
  HR_CO_TRY(co_await agreeing);
  if (all_on_devices != 0) {
    Task opening = segment.open(Sharing::kFlagLines);
    HR_CO_TRY(co_await opening);
    call.members->plans().clear();
    way_ = segment.is_open(Sharing::kFlagLines) ? Way::kDevices : Way::kMessages;
  } else {
    way_ = Way::kMessagesAtFirst;
  }
  co_return kOk;
}

Task Persistence::decide_on_shared_memory(const Call& call) {
  shared::Segment& segment = *call.segment;
  way_ = Way::kMessages;
  if (call.operation >= Operation::kNeighborAllgather) co_return kOk;  // no member claims memory for it
  const bool device =
      data_kind_of(call, call.send) == DataKind::kDeviceData || data_kind_of(call, call.recv) == DataKind::kDeviceData;
  std::uint64_t claimed_on_all = claimed_ && !device ? 1 : 0;
  Task agreeing = segment.agree(&claimed_on_all);
  HR_CO_TRY(co_await agreeing);
  if (claimed_on_all != 0) {
    Task opening = segment.open(Sharing::kFlagLines);
    HR_CO_TRY(co_await opening);
    if (segment.is_open(Sharing::kFlagLines)) way_ = Way::kSharedMemory;
  }
  if (way_ == Way::kMessages) give_back();
  co_return kOk;
}

Task Persistence::execute_on_devices(const Call& call) {
  shared::Segment& segment = *call.segment;
  AddressExchange exchange{true, false};  // the flag lines are used only for the exchange
  Buffers buffers = Buffers::kInPlace;
  if (way_ == Way::kDevices) {
    Task exchanging = segment.device_buffers().exchange(call);
    HR_CO_TRY(co_await exchanging);
    exchange.agreed = segment.device_buffers().agreed();
    if (segment.device_buffers().time_sliced() && device::pinned_pays(call)) {
      exchange.agreed = false;
      if (device::fits_pinned(call)) buffers = Buffers::kPinned;
    }
  }
  Status status = kOk;
  const Algorithm* algorithm = choose(call, &status, exchange);
  if (algorithm == nullptr) co_return status;
  Task inner = execute(call, algorithm, buffers);
  status = co_await inner;
  co_return status;
}

// The choice is kept here: the members' plans may have been made for a segment of which the members know other facts.
Task Persistence::execute_in_shared_memory(const Call& call) {
  while (algorithm_ == nullptr) {
    Status status = kOk;
    const Algorithm* algorithm = choose_apart(call, &status);
    if (algorithm == nullptr) co_return status;
    if (call.segment->is_open(algorithm->needs)) {
      algorithm_ = algorithm;
      break;
    }
    Task opening = call.segment->open(algorithm->needs);
    HR_CO_TRY(co_await opening);
  }
  Task inner = execute(call, algorithm_);
  const Status status = co_await inner;
  co_return status;
}

Task Persistence::execute_in_own_segment(const Call& call) {
  TurnGuard turn(call);
  if (way_ == Way::kUnknown) {
    Task deciding = decide_on_devices(call);
    HR_CO_TRY(co_await deciding);
  }
  if (way_ == Way::kMessagesAtFirst && starts_ > knobs().coll_shared_after) {
    Task deciding = decide_on_shared_memory(call);
    HR_CO_TRY(co_await deciding);
  }
  Task inner = way_ == Way::kSharedMemory ? execute_in_shared_memory(call) : execute_on_devices(call);
  const Status status = co_await inner;
  co_return status;
}

Task Persistence::begin(Call& call) {
  if (nothing_to_do(call)) return {};
  ++starts_;
  if (way_ == Way::kUnknown && segment_ == nullptr) {
    if (!call.members->can_share()) {
      way_ = Way::kMessages;
    } else {
      constexpr int kRequests = 1 << 28;
      segment_ = std::make_unique<shared::Segment>(*call.members, (call.tag % kRequests + 1) * shared::Segment::kTags);
      const bool user = call.op != nullptr && call.op->kind() == layout::OpKind::kUser;
      if (user || never_on_devices(call)) way_ = Way::kMessagesAtFirst;
    }
  }
  if (way_ == Way::kMessages) segment_.reset();
  call.segment = segment_.get();
  const bool waits = way_ == Way::kMessagesAtFirst && starts_ <= knobs().coll_shared_after;
  if (call.segment == nullptr || waits) {
    call.segment = nullptr;
    return execute_by_messages(call);
  }
  call.sequence_number = call.segment->take_sequence_number();
  return execute_in_own_segment(call);
}

}  // namespace hr::coll
