#include "mem/cuda/attendant.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "attend_desk.hpp"
#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/statistics.hpp"
#include "mem/cuda/context.hpp"

namespace hr::mem::cuda {
namespace {

using kernels::AttendDesk;
using kernels::AttendOrder;
using kernels::kAttendSlots;

// More than the time from one message to the next of programs that send to and fro.
constexpr std::uint32_t kPatienceNanoseconds = 25000;
// On an H200 it is there 6 us after the call. Who needs it in the second half of that waits for it, others do not.
constexpr double kWorthAwaitingSeconds = 3e-6;
constexpr double kComingSeconds = 10e-6;
constexpr unsigned kLooks = 1024;    // before the driver is asked for errors
constexpr unsigned kMostInVain = 4;  // after so many visits in vain in a row, up to 2^4 - 1 calls are not followed
constexpr std::size_t kPageBytes = 4096;
static_assert(sizeof(AttendDesk) <= kPageBytes);

std::uint32_t read(const std::uint32_t& word) {
  return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(word)).load(std::memory_order_acquire);
}
void write(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_release);
}

// Measured on two H200. More than one block costs 0.8 us, which passes the orders on, and pays where one has more to
// copy than it keeps in flight.
std::uint32_t blocks_for(std::size_t bytes) {
  constexpr std::size_t kOne = std::size_t{64} << 10, kHalf = std::size_t{320} << 10;
  return bytes <= kOne ? 1 : bytes <= kHalf ? kernels::kAttendBlocks / 2 : kernels::kAttendBlocks;
}

// The context must be current.
bool default_stream_idle(Context& context) {
  return knobs().default_stream == DefaultStreamChoice::kIgnore || context.query_default_stream() == kSuccess;
}

// Numbers go round.
bool reached(std::uint32_t number, std::uint32_t wanted) { return static_cast<std::int32_t>(number - wanted) >= 0; }

}  // namespace

bool Attendant::prepare() {
  if (state_ != State::kNew) return state_ == State::kReady;
  state_ = State::kImpossible;
  FunctionHandle function = nullptr;
  if (!context_.kernel("hr_attend", &function).ok() || function == nullptr) return false;
  void* page = nullptr;
  if (driver().host_allocate(&page, kPageBytes, kHostRegisterPortable) != kSuccess) return false;
  std::memset(page, 0, kPageBytes);
  desk_ = static_cast<AttendDesk*>(page);
  if (driver().memory_allocate(&relay_, sizeof(kernels::AttendRelay)) != kSuccess ||
      driver().stream_create(&stream_, kStreamNonBlocking, kHighestPriority) != kSuccess ||
      driver().copy_async(relay_, reinterpret_cast<std::uintptr_t>(page), sizeof(kernels::AttendRelay), stream_) !=
          kSuccess) {
    return false;  // release() gives back what there is
  }
  state_ = State::kReady;
  return true;
}

bool Attendant::done(std::uint32_t number) const {
  return std::all_of(desk_->done, desk_->done + blocks_,
                     [&](const std::uint32_t& each) { return reached(read(each), number); });
}

bool Attendant::come() {
  if (!arrived_) {
    arrived_ = std::all_of(desk_->here, desk_->here + blocks_,
                           [&](const std::uint32_t& each) { return read(each) == visit_; });
  }
  return arrived_;
}

bool Attendant::leaves() const { return read(desk_->left[0]) == visit_; }

bool Attendant::left() const {
  return std::all_of(desk_->left, desk_->left + blocks_,
                     [&](const std::uint32_t& each) { return read(each) == visit_; });
}

bool Attendant::to_be_called(std::size_t bytes) const {
  if (retired_ || state_ == State::kImpossible || bytes == 0 || bytes > kLargest || under_way_ != 0) return false;
  return !called_ || leaves() || blocks_for(bytes) > blocks_;
}

void Attendant::call(std::size_t bytes) {
  if (!to_be_called(bytes)) return;
  send_away();
  // The last one has not even come: the device is busy.
  if (!prepare() || !come()) return;
  if (skips_ != 0) {
    --skips_;
    return;
  }
  FunctionHandle function = nullptr;
  if (!context_.kernel("hr_attend", &function).ok()) return;
  blocks_ = blocks_for(bytes);
  first_ = next_;
  ++visit_;
  for (std::uint32_t& each : desk_->done) std::atomic_ref<std::uint32_t>(each).store(first_ - 1);
  auto desk = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(desk_));
  std::uint64_t relay = relay_;
  std::uint32_t patience = kPatienceNanoseconds;
  void* arguments[] = {&desk, &relay, &first_, &visit_, &patience};
  called_at_ = now_seconds();
  if (driver().launch(function, blocks_, 1, 1, kernels::kAttendThreads, 1, 1, 0, stream_, arguments, nullptr) !=
      kSuccess) {
    state_ = State::kImpossible;  // what is wrong is told by who needs the device
    return;
  }
  called_ = true;
  arrived_ = false;
}

bool Attendant::here(std::size_t bytes) { return called_ && blocks_for(bytes) <= blocks_ && come() && !leaves(); }

bool Attendant::awaited(std::size_t bytes) const {
  if (!called_ || arrived_ || blocks_for(bytes) > blocks_) return false;
  const double since = now_seconds() - called_at_;
  return since > kWorthAwaitingSeconds && since < kComingSeconds;
}

void Attendant::write_order(DeviceAddress target, DeviceAddress source, std::size_t bytes) {
  AttendOrder& order = desk_->orders[next_ % kAttendSlots];
  const std::uint64_t number = std::uint64_t{next_ & 0xffff} << kernels::kAttendNumberShift;
  write(order.words[kernels::kAttendSource], source | number);
  write(order.words[kernels::kAttendTarget], target | number);
  write(order.words[kernels::kAttendBytes], bytes | number);
  ++next_;
}

bool Attendant::give(DeviceAddress target, DeviceAddress source, std::size_t bytes, std::uint32_t* order) {
  // A slot is free when the order before in it is done; one is left for sending away.
  if (next_ - first_ + 1 >= kAttendSlots && !done(next_ + 1 - kAttendSlots)) return false;
  if (((target | source) & ~kernels::kAttendValueMask) != 0) return false;
  *order = next_;
  write_order(target, source, bytes);
  ++under_way_;
  return true;
}

Status Attendant::look(std::uint32_t order, Answer* answer) {
  Status status = kOk;
  *answer = Answer::kDone;
  if (!done(order)) *answer = left() || fails(&status) ? Answer::kLeft : Answer::kUnderWay;
  // It may have done it just before it left.
  if (status.ok() && *answer == Answer::kLeft && done(order)) *answer = Answer::kDone;
  if (*answer != Answer::kUnderWay) --under_way_;
  return status;
}

bool Attendant::fails(Status* status) {
  if (++looks_ % kLooks != 0) return false;
  const Current current(context_);
  *status = current.status();
  if (!status->ok()) return true;
  const Result result = driver().stream_query(stream_);
  if (result == kNotReady || result == kSuccess) return false;
  *status = report(result, "stream_query", context_.device(), "a copy from another process");
  return true;
}

void Attendant::send_away() {
  if (!called_) return;
  called_ = false;
  const bool in_vain = next_ == first_;
  in_vain_ = in_vain ? std::min(in_vain_ + 1, kMostInVain) : 0;
  // At random: in a program whose calls come in turns it would else always be the same one.
  skips_ = in_vain ? random_() % (1U << in_vain_) : 0;
  // Either way a number is used up: one that has left has waited for this one.
  write_order(0, 0, 0);
}

void Attendant::release() noexcept {
  send_away();
  if (stream_ != nullptr) (void)driver().stream_synchronize(stream_);
  if (stream_ != nullptr) (void)driver().stream_destroy(stream_);
  if (relay_ != 0) (void)driver().memory_free(relay_);
  if (desk_ != nullptr) (void)driver().host_free(desk_);
  stream_ = nullptr;
  relay_ = 0;
  desk_ = nullptr;
  state_ = State::kImpossible;
}

bool AttendedCopy::begin(Context& context, DeviceAddress target, DeviceAddress source, std::size_t bytes) {
  Attendant& attendant = context.attendant();
  if (attendant.here(bytes)) {
    if (!default_stream_idle(context) || !attendant.give(target, source, bytes, &order_)) return false;
    state_ = State::kGiven;
  } else if (attendant.awaited(bytes)) {
    state_ = State::kAwaits;
  } else {
    return false;
  }
  context_ = context.handle();
  id_ = context.id();
  target_ = target;
  source_ = source;
  bytes_ = bytes;
  return true;
}

Status AttendedCopy::context(Context** context) const {
  *context = Context::find(context_, id_);
  if (*context != nullptr) return kOk;
  return fail(Errc::kOther, "the CUDA context %p was destroyed during a copy from another process", context_);
}

Status AttendedCopy::poll(Attendant::Answer* answer) {
  Context* home = nullptr;
  if (const Status status = context(&home); !status.ok()) {
    state_ = State::kNone;
    return status;
  }
  Attendant& attendant = home->attendant();
  if (state_ == State::kAwaits) {
    *answer = Attendant::Answer::kUnderWay;
    if (attendant.here(bytes_)) {
      const Current current(*home);
      if (current.status().ok() && default_stream_idle(*home) && attendant.give(target_, source_, bytes_, &order_)) {
        state_ = State::kGiven;
        return kOk;
      }
    } else if (attendant.awaited(bytes_)) {
      return kOk;
    }
    state_ = State::kNone;
    *answer = Attendant::Answer::kLeft;
    return kOk;
  }
  const Status status = attendant.look(order_, answer);
  if (!status.ok() || *answer != Attendant::Answer::kUnderWay) state_ = State::kNone;
  if (status.ok() && *answer == Attendant::Answer::kDone) add(Statistic::cuda_attended);
  return status;
}

}  // namespace hr::mem::cuda
