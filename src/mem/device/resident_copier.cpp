#include "mem/device/resident_copier.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/statistics.hpp"
#include "copy_mailbox.hpp"
#include "mem/device/context.hpp"

namespace hr::mem::device {
namespace {

using kernels::CopyEntry;
using kernels::CopyMailbox;
using kernels::kMailboxEntries;

// Must be longer than the time between two messages of a ping-pong.
constexpr std::uint32_t kIdleExitNanoseconds = 25000;
// The kernel starts a few microseconds after its launch. Copies submitted late in that time wait for it; others do not.
constexpr double kStartWaitSeconds = 3e-6;
constexpr double kStartSeconds = 10e-6;
constexpr unsigned kPolls = 1024;         // number of polls between queries of the driver for errors
constexpr unsigned kMaxIdleLaunches = 4;  // after this many in a row, up to 2^4 - 1 launches are skipped
constexpr std::size_t kPageBytes = 4096;
static_assert(sizeof(CopyMailbox) <= kPageBytes);

std::uint32_t read(const std::uint32_t& word) {
  return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(word)).load(std::memory_order_acquire);
}
void write(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref<std::uint64_t>(word).store(value, std::memory_order_release);
}

// With more than one block, forwarding the entries takes time, which pays if there is more to copy than one block keeps
// in flight.
std::uint32_t blocks_for(std::size_t bytes) {
  constexpr std::size_t kOne = std::size_t{64} << 10, kHalf = std::size_t{320} << 10;
  return bytes <= kOne ? 1 : bytes <= kHalf ? kernels::kResidentBlocks / 2 : kernels::kResidentBlocks;
}

// The context must be current.
bool default_stream_idle(Context& context) {
  return knobs().default_stream == DefaultStreamChoice::kIgnore || context.query_default_stream() == kSuccess;
}

// True if `number` is at or past `wanted`; numbers wrap around.
bool reached(std::uint32_t number, std::uint32_t wanted) { return static_cast<std::int32_t>(number - wanted) >= 0; }

}  // namespace

bool ResidentCopier::prepare() {
  if (state_ != State::kNew) return state_ == State::kReady;
  state_ = State::kImpossible;
  if (!driver().stores_appear_early) return false;
  FunctionHandle function = nullptr;
  if (!context_.kernel("hr_resident_copy", &function).ok() || function == nullptr) return false;
  void* page = nullptr;
  if (driver().host_allocate(&page, kPageBytes, kHostRegisterPortable) != kSuccess) return false;
  std::memset(page, 0, kPageBytes);
  mailbox_ = static_cast<CopyMailbox*>(page);
  if (driver().memory_allocate(&relay_, sizeof(kernels::CopyRelay)) != kSuccess ||
      driver().stream_create(&stream_, kStreamNonBlocking, kHighestPriority) != kSuccess ||
      driver().copy_async(relay_, reinterpret_cast<std::uintptr_t>(page), sizeof(kernels::CopyRelay), stream_) !=
          kSuccess) {
    return false;  // release() frees the rest
  }
  state_ = State::kReady;
  return true;
}

bool ResidentCopier::done(std::uint32_t number) const {
  return std::all_of(mailbox_->done, mailbox_->done + blocks_,
                     [&](const std::uint32_t& each) { return reached(read(each), number); });
}

bool ResidentCopier::started() {
  if (!running_) {
    running_ = std::all_of(mailbox_->running, mailbox_->running + blocks_,
                           [&](const std::uint32_t& each) { return read(each) == launch_; });
  }
  return running_;
}

bool ResidentCopier::first_block_exited() const { return read(mailbox_->exited[0]) == launch_; }

bool ResidentCopier::exited() const {
  return std::all_of(mailbox_->exited, mailbox_->exited + blocks_,
                     [&](const std::uint32_t& each) { return read(each) == launch_; });
}

bool ResidentCopier::wants_launch(std::size_t bytes) const {
  if (disabled_ || state_ == State::kImpossible || bytes == 0 || bytes > kLargest || pending_ != 0) return false;
  return !launched_ || first_block_exited() || blocks_for(bytes) > blocks_;
}

void ResidentCopier::launch(std::size_t bytes) {
  if (!wants_launch(bytes)) return;
  stop();
  // If the last launch has not even started, the device is busy.
  if (!prepare() || !started()) return;
  if (skipped_launches_ != 0) {
    --skipped_launches_;
    return;
  }
  FunctionHandle function = nullptr;
  if (!context_.kernel("hr_resident_copy", &function).ok()) return;
  blocks_ = blocks_for(bytes);
  first_ = next_;
  ++launch_;
  for (std::uint32_t& each : mailbox_->done) std::atomic_ref<std::uint32_t>(each).store(first_ - 1);
  auto mailbox = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(mailbox_));
  std::uint64_t relay = relay_;
  std::uint32_t idle_nanoseconds = kIdleExitNanoseconds;
  void* arguments[] = {&mailbox, &relay, &first_, &launch_, &idle_nanoseconds};
  launched_at_ = now_seconds();
  if (driver().launch(function, blocks_, 1, 1, kernels::kResidentThreads, 1, 1, 0, stream_, arguments, nullptr) !=
      kSuccess) {
    state_ = State::kImpossible;  // the code that needs the device reports the error
    return;
  }
  launched_ = true;
  running_ = false;
}

bool ResidentCopier::running(std::size_t bytes) {
  return launched_ && blocks_for(bytes) <= blocks_ && started() && !first_block_exited();
}

bool ResidentCopier::starting_soon(std::size_t bytes) const {
  if (!launched_ || running_ || blocks_for(bytes) > blocks_) return false;
  const double since = now_seconds() - launched_at_;
  return since > kStartWaitSeconds && since < kStartSeconds;
}

void ResidentCopier::write_entry(DeviceAddress target, DeviceAddress source, std::size_t bytes) {
  CopyEntry& entry = mailbox_->entries[next_ % kMailboxEntries];
  const std::uint64_t number = std::uint64_t{next_ & 0xffff} << kernels::kEntryNumberShift;
  write(entry.words[kernels::kEntrySource], source | number);
  write(entry.words[kernels::kEntryTarget], target | number);
  write(entry.words[kernels::kEntryBytes], bytes | number);
  ++next_;
}

bool ResidentCopier::submit(DeviceAddress target, DeviceAddress source, std::size_t bytes, std::uint32_t* entry) {
  // A slot is free once the previous entry in it is done; one slot is kept for stop().
  if (next_ - first_ + 1 >= kMailboxEntries && !done(next_ + 1 - kMailboxEntries)) return false;
  if (((target | source) & ~kernels::kEntryValueMask) != 0) return false;
  *entry = next_;
  write_entry(target, source, bytes);
  ++pending_;
  return true;
}

Status ResidentCopier::poll(std::uint32_t entry, Progress* answer) {
  Status status = kOk;
  *answer = Progress::kDone;
  if (!done(entry)) *answer = exited() || fails(&status) ? Progress::kExited : Progress::kPending;
  // The kernel may have made this copy just before it exited.
  if (status.ok() && *answer == Progress::kExited && done(entry)) *answer = Progress::kDone;
  if (*answer != Progress::kPending) --pending_;
  return status;
}

bool ResidentCopier::fails(Status* status) {
  if (++polls_ % kPolls != 0) return false;
  const Current current(context_);
  *status = current.status();
  if (!status->ok()) return true;
  const Result result = driver().stream_query(stream_);
  if (result == kNotReady || result == kSuccess) return false;
  *status = report(result, "stream_query", context_.device(), "a copy from another process");
  return true;
}

void ResidentCopier::stop() {
  if (!launched_) return;
  launched_ = false;
  const bool idle = next_ == first_;
  idle_launches_ = idle ? std::min(idle_launches_ + 1, kMaxIdleLaunches) : 0;
  // The number is random: otherwise, in a program whose waits alternate, the same waits would always get no launch.
  skipped_launches_ = idle ? random_() % (1U << idle_launches_) : 0;
  // Written even if the kernel has exited: it was waiting for an entry with this number, which must not be reused.
  write_entry(0, 0, 0);
}

void ResidentCopier::release() noexcept {
  stop();
  if (stream_ != nullptr) (void)driver().stream_synchronize(stream_);
  if (stream_ != nullptr) (void)driver().stream_destroy(stream_);
  if (relay_ != 0) (void)driver().memory_free(relay_);
  if (mailbox_ != nullptr) (void)driver().host_free(mailbox_);
  stream_ = nullptr;
  relay_ = 0;
  mailbox_ = nullptr;
  state_ = State::kImpossible;
}

bool ResidentCopy::begin(Context& context, DeviceAddress target, DeviceAddress source, std::size_t bytes) {
  ResidentCopier& resident_copier = context.resident_copier();
  if (resident_copier.running(bytes)) {
    if (!default_stream_idle(context) || !resident_copier.submit(target, source, bytes, &entry_)) return false;
    state_ = State::kSubmitted;
  } else if (resident_copier.starting_soon(bytes)) {
    state_ = State::kStarting;
  } else {
    return false;
  }
  context_ = context.handle();
  id_ = context.id();
  independent_ = context.independent();
  target_ = target;
  source_ = source;
  bytes_ = bytes;
  return true;
}

Status ResidentCopy::context(Context** context) const {
  *context = Context::find(context_, id_, independent_);
  if (*context != nullptr) return kOk;
  return fail(Errc::kOther, "the context %p was destroyed during a copy from another process", context_);
}

Status ResidentCopy::poll(ResidentCopier::Progress* answer) {
  Context* home = nullptr;
  if (const Status status = context(&home); !status.ok()) {
    state_ = State::kNone;
    return status;
  }
  ResidentCopier& resident_copier = home->resident_copier();
  if (state_ == State::kStarting) {
    *answer = ResidentCopier::Progress::kPending;
    if (resident_copier.running(bytes_)) {
      const Current current(*home);
      if (current.status().ok() && default_stream_idle(*home) &&
          resident_copier.submit(target_, source_, bytes_, &entry_)) {
        state_ = State::kSubmitted;
        return kOk;
      }
    } else if (resident_copier.starting_soon(bytes_)) {
      return kOk;
    }
    state_ = State::kNone;
    *answer = ResidentCopier::Progress::kExited;
    return kOk;
  }
  const Status status = resident_copier.poll(entry_, answer);
  if (!status.ok() || *answer != ResidentCopier::Progress::kPending) state_ = State::kNone;
  if (status.ok() && *answer == ResidentCopier::Progress::kDone) add(Statistic::device_resident_copies);
  return status;
}

}  // namespace hr::mem::device
