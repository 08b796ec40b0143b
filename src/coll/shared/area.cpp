#include "coll/shared/area.hpp"

#include <unistd.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "boot/boot.hpp"
#include "coll/device/members.hpp"
#include "coll/shared/readable.hpp"
#include "comm/agree.hpp"
#include "p2p/peer_memory.hpp"

namespace hr::coll::shared {

using p2p::Task;

namespace {

constexpr const char* kRemedy = "take less of it with HEADRACE_COLL_SHARED_BYTES";
constexpr std::uint64_t kNoFile = ~std::uint64_t{0};
// Told to the other members: how to open the file.
struct Place {
  std::uint64_t number = kNoFile;  // or that there is none
  std::int64_t process = -1;       // whose descriptor leads to it; else it has a name
  std::int64_t descriptor = -1;
};
// What the members agree upon.
constexpr std::uint64_t kOpen = 1;
constexpr std::uint64_t kCrowded = 2;

// Slots of up to so many bytes, those of 16 processes, are mapped when they are opened, and the cells (0.6 us a page).
constexpr std::size_t kMappedAtOnce = std::size_t{8} << 20;

std::uint64_t files_made = 0;
bool failure_noted = false;

class State final : public comm::CollectiveState {
 public:
  explicit State(const comm::Communicator& comm)
      : first_tag_(can_share(comm) ? knobs().coll_shared_after : kNever), area_(comm) {}
  [[nodiscard]] Area* area_at(int tag) noexcept {
    return tag >= first_tag_ && area_.sharing() != Sharing::kNone ? &area_ : nullptr;
  }

 private:
  static constexpr int kNever = std::numeric_limits<int>::max();
  int first_tag_;
  Area area_;
};

// A process that this one tells where it is reads it from one word.
std::uint64_t as_word(const topo::Neighbourhood& place) noexcept {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(place.memory)) << 32 |
         static_cast<std::uint32_t>(place.cache);
}
topo::Neighbourhood from_word(std::uint64_t word) noexcept {
  return {static_cast<std::int32_t>(word >> 32), static_cast<std::int32_t>(word)};
}

// As bound when a communicator of several was first to share memory.
const topo::Neighbourhood& own_neighbourhood() {
  static const topo::Neighbourhood here = topo::neighbourhood_of(topo::allowed_cpus());
  return here;
}

std::string path_of(int maker, std::uint64_t number) {
  const boot::Identity& identity = boot::identity();
  return knobs().shm_dir + "/headrace." + identity.job_id + ".coll." + std::to_string(maker) + "." +
         std::to_string(number);
}

// The others go on without shared memory; so does this process.
bool opened(Status status) {
  if (status.ok()) return true;
  log::note_once(failure_noted, "collectives go through messages: %s", take_detail().c_str());
  return false;
}

}  // namespace

Area::Area(const comm::Communicator& comm, int tag)
    : comm_(comm),
      tag_(tag),
      rank_(comm.rank()),
      size_(comm.size()),
      opposite_((rank_ + size_ / 2) % std::max(size_, 1)),
      looks_(p2p::looks_before_progress()),
      cell_file_(kRemedy),
      slot_file_(kRemedy) {
  cut_slots(size_ <= kFewMembers && is_amd() ? kSlots : kSlotsUsual);
}

Area::~Area() = default;

device::Members& Area::members() noexcept {
  if (members_ == nullptr) members_ = std::make_unique<device::Members>();
  return *members_;
}

void Area::cut_slots(std::uint64_t count) noexcept {
  slot_count_ = count;
  slot_bytes_ = knobs().coll_shared_bytes / std::min(count, kSlotsUsual) / kPair * kPair;
}

void Area::see_finished() noexcept {
  seen_finished_ = readers_.load(control(opposite_).finished.value, seen_finished_);
}

bool Area::look(std::uint64_t count) noexcept {
  see_finished();
  std::uint64_t least = std::min(turn_, seen_finished_);
  for (int other = 0; other < size_ && least >= count; ++other) {
    if (other == rank_ || other == opposite_) continue;
    least = std::min(least, control(other).finished.value.load(std::memory_order_acquire));
  }
  if (least < count) return false;
  known_finished_ = least;
  return true;
}

std::size_t Area::bytes_of(Sharing part) const noexcept {
  return static_cast<std::size_t>(size_) * (part == Sharing::kCells ? sizeof(Block) : slot_count_ * slot_bytes_);
}

void Area::tell_place(Block* blocks) const {
  topo::Neighbourhood place;
  if (knobs().coll_team > 0) {
    place.cache = rank_ / knobs().coll_team;
  } else if (size_ > 2) {
    place = own_neighbourhood();
  }
  blocks[rank_].control.place.value.store(as_word(place), std::memory_order_release);
}

void Area::meet_neighbours() {
  std::vector<topo::Neighbourhood> members;
  for (int rank = 0; rank < size_; ++rank)
    members.push_back(from_word(control(rank).place.value.load(std::memory_order_acquire)));
  teams_ = Teams(members);
}

Task Area::open(Sharing part) {
  SharedFile& file = file_of(part);
  const std::size_t bytes = bytes_of(part);
  const std::span<const int> procs = comm_.local_->procs();
  const comm::Members members{procs.data(), size_, rank_, comm_.context() + comm::kSharedMemoryContext,
                              tag_ + static_cast<int>(part)};
  Place place;
  if (rank_ == 0) {
    const std::uint64_t number = files_made++;
    if (opened(file.create_hidden(path_of(procs[0], number), bytes, bytes))) place.number = number;
    if (file.hidden()) place.process = ::getpid(), place.descriptor = file.descriptor();
  }
  Task telling = comm::broadcast(members, 0, &place, sizeof place);
  HR_CO_TRY(co_await telling);
  bool open = place.number != kNoFile;
  if (rank_ != 0 && open) {
    const bool hidden = place.process >= 0;
    open = opened(file.attach(hidden ? SharedFile::name_of(place.process, static_cast<int>(place.descriptor))
                                     : path_of(procs[0], place.number),
                              bytes));
  }
  if (open && part == Sharing::kCells) tell_place(reinterpret_cast<Block*>(file.data()));
  std::uint64_t facts = (open ? kOpen : 0) | (p2p::more_processes_than_cores() ? kCrowded : 0);
  Task agreeing = comm::and_reduce(members, &facts, 1);
  HR_CO_TRY(co_await agreeing);
  if (rank_ == 0 && place.number != kNoFile) file.unlink();
  if ((facts & kOpen) == 0) {
    sharing_ = part == Sharing::kCells ? Sharing::kNone : Sharing::kCells;
  } else if (part == Sharing::kCells) {
    crowded_ = (facts & kCrowded) != 0;
    if (crowded_) cut_slots(kSlotsCrowded);
    blocks_ = reinterpret_cast<Block*>(file.data());
    meet_neighbours();
  } else {
    slots_ = file.data();
    // Trials compare slots with reading, which uses the cells: first touches of pages would be a part of it.
    if (bytes <= kMappedAtOnce) {
      file.map_pages();
      cell_file_.map_pages();
    }
    Reading reading = Reading::kNone;
    const int next = rank_ + 1 < size_ ? rank_ + 1 : 0;
    Task trying = try_reading(members, slot(rank_, 0), slot(next, 0), slot_bytes_, &reading);
    HR_CO_TRY(co_await trying);
    reading_ = reading;
  }
  co_return kOk;
}

Task Area::agree(std::uint64_t* facts) {
  const comm::Members members{comm_.local_->procs().data(), size_, rank_, comm_.context() + comm::kSharedMemoryContext,
                              tag_};
  return comm::and_reduce(members, facts, 1);
}

bool can_share(const comm::Communicator& comm) {
  if (comm.is_inter() || comm.size() < 2 || knobs().coll_shared_bytes == 0) return false;
  return std::ranges::all_of(comm.local_->procs(), p2p::shares_memory);
}

Area* area_for(const Call& call) {
  if (call.persistent) return nullptr;
  std::unique_ptr<comm::CollectiveState>& state = call.comm->collectives_;
  if (state == nullptr) [[unlikely]]
    state = std::make_unique<State>(*call.comm);
  return static_cast<State*>(state.get())->area_at(call.tag);
}

}  // namespace hr::coll::shared
