#include "coll/persistence.hpp"

#include "coll/device/buffers.hpp"
#include "coll/device/through_pinned.hpp"
#include "coll/execute.hpp"

namespace hr::coll {

using p2p::Task;

Task Persistence::execute_in_own_segment(const Call& call) {
  shared::Segment& segment = *call.segment;
  TurnGuard turn(segment);
  if (way_ == Way::kUnknown) {
    const bool host =
        data_kind_of(call, call.send) == DataKind::kHostData || data_kind_of(call, call.recv) == DataKind::kHostData;
    std::uint64_t all_on_devices = host ? 0 : 1;
    Task agreeing = segment.agree(&all_on_devices);
    HR_CO_TRY(co_await agreeing);
    if (all_on_devices != 0) {
      Task opening = segment.open(Sharing::kFlagLines);
      HR_CO_TRY(co_await opening);
      call.members->plans().clear();
    }
    way_ = segment.is_open(Sharing::kFlagLines) && all_on_devices != 0 ? Way::kDevices : Way::kMessages;
  }
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

Task Persistence::begin(Call& call) {
  if (nothing_to_do(call)) return {};
  if (way_ == Way::kUnknown && segment_ == nullptr) {
    const bool user = call.op != nullptr && call.op->kind() == layout::OpKind::kUser;
    if (user || never_on_devices(call) || !call.members->can_share()) {
      way_ = Way::kMessages;
    } else {
      constexpr int kRequests = 1 << 28;
      segment_ = std::make_unique<shared::Segment>(*call.members, (call.tag % kRequests + 1) * shared::Segment::kTags);
    }
  }
  if (way_ == Way::kMessages) segment_.reset();
  call.segment = segment_.get();
  if (call.segment == nullptr) return execute_by_messages(call);
  call.sequence_number = call.segment->take_sequence_number();
  return execute_in_own_segment(call);
}

}  // namespace hr::coll
