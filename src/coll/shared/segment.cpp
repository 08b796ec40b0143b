#include "coll/shared/segment.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "boot/boot.hpp"
#include "coll/device/buffers.hpp"
#include "coll/state.hpp"
#include "comm/agree.hpp"

namespace hr::coll::shared {

using p2p::Task;

namespace {

constexpr const char* kRemedy = "take less of it with HEADRACE_COLL_SHARED_BYTES";
constexpr std::uint64_t kNoFile = ~std::uint64_t{0};
// Message to the other members: how to open the file.
struct FileLocation {
  std::uint64_t number = kNoFile;  // kNoFile: there is none
  std::int64_t process = -1;       // process whose `descriptor` refers to the file; -1: the file has a name
  std::int64_t descriptor = -1;
};
// Bits of the facts that the members agree on.
constexpr std::uint64_t kOpen = 1;
constexpr std::uint64_t kOversubscribed = 2;

std::string path_of(int maker, std::uint64_t number) {
  const boot::Identity& identity = boot::identity();
  return knobs().shm_dir + "/headrace." + identity.job_id + ".coll." + std::to_string(maker) + "." +
         std::to_string(number);
}

// True if the part has been opened. If not, all members continue without shared memory.
bool opened(Status status) {
  if (status.ok()) return true;
  log::note_once(state().sharing_failed, "collectives use messages: %s", take_detail().c_str());
  return false;
}

}  // namespace

Segment::Segment(const Members& members, int tag)
    : members_(members),
      tag_(tag),
      rank_(members.own()),
      size_(members.size()),
      looks_(p2p::spins_before_progress()),
      flag_file_(kRemedy),
      data_file_(kRemedy) {
  cut_data_slots(size_ <= kFewMembers && is_amd() ? kDataSlots : kDataSlotsUsual);
}

Segment::~Segment() = default;

device::DeviceBuffers& Segment::device_buffers() noexcept {
  if (device_buffers_ == nullptr) device_buffers_ = std::make_unique<device::DeviceBuffers>();
  return *device_buffers_;
}

void Segment::cut_data_slots(std::uint64_t count) noexcept {
  data_slot_count_ = count;
  data_slot_bytes_ = knobs().coll_shared_bytes / std::min(count, kDataSlotsUsual) / kPair * kPair;
}

bool Segment::look(std::uint64_t count) noexcept {
  std::uint64_t least = turn_;
  for (int other = 0; other < size_ && least >= count; ++other) {
    if (other == rank_) continue;
    least = std::min(least, control(other).finished.value.load(std::memory_order_acquire));
  }
  if (least < count) return false;
  known_finished_ = least;
  return true;
}

std::size_t Segment::bytes_of(Sharing part) const noexcept {
  return static_cast<std::size_t>(size_) *
         (part == Sharing::kFlagLines ? sizeof(Block) : data_slot_count_ * data_slot_bytes_);
}

Task Segment::open(Sharing part) {
  SharedFile& file = file_of(part);
  const std::size_t bytes = bytes_of(part);
  const comm::ProcList procs = members_.peers();
  const comm::Members members{procs, size_, rank_, members_.shared_memory_context(), tag_ + static_cast<int>(part)};
  FileLocation location;
  if (rank_ == 0) {
    const std::uint64_t number = state().files_made++;
    if (opened(file.create_hidden(path_of(procs[0], number), bytes, bytes, SharedFile::Room::kAnywhere))) {
      location.number = number;
      buffered_.take(bytes);
    }
    if (file.hidden()) location.process = ::getpid(), location.descriptor = file.descriptor();
  }
  Task telling = comm::broadcast(members, 0, &location, sizeof location);
  HR_CO_TRY(co_await telling);
  bool open = location.number != kNoFile;
  if (rank_ != 0 && open) {
    const bool hidden = location.process >= 0;
    open = opened(file.attach(hidden ? SharedFile::name_of(location.process, static_cast<int>(location.descriptor))
                                     : path_of(procs[0], location.number),
                              bytes));
  }
  std::uint64_t facts = (open ? kOpen : 0) | (p2p::node_oversubscribed_for_good() ? kOversubscribed : 0);
  Task agreeing = comm::and_reduce(members, &facts, 1);
  HR_CO_TRY(co_await agreeing);
  if (rank_ == 0 && location.number != kNoFile) file.unlink();
  if ((facts & kOpen) == 0) {
    sharing_ = part == Sharing::kFlagLines ? Sharing::kNone : Sharing::kFlagLines;
  } else if (part == Sharing::kFlagLines) {
    oversubscribed_ = (facts & kOversubscribed) != 0;
    // Only now has this process heard of all members, and of the CPUs on which they run.
    looks_ = p2p::spins_before_progress();
    if (oversubscribed_) cut_data_slots(kDataSlotsOversubscribed);
    blocks_ = reinterpret_cast<Block*>(file.data());
  } else {
    data_slots_ = file.data();
  }
  co_return kOk;
}

Task Segment::agree(std::uint64_t* facts) {
  const comm::Members members{members_.peers(), size_, rank_, members_.shared_memory_context(), tag_};
  return comm::and_reduce(members, facts, 1);
}

}  // namespace hr::coll::shared
