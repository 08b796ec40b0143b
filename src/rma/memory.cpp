#include "rma/memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "base/process_barrier.hpp"
#include "boot/boot.hpp"
#include "comm/agree.hpp"
#include "p2p/p2p.hpp"
#include "rma/state.hpp"

namespace hr::rma {

namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLeastAlignment = 64;
constexpr const char* kRemedy = "make windows smaller";

enum Tag : int { kPlaceTag = 0x10001, kAgreeTag };

// Message to the other members: how to open the file.
struct Place {
  std::uint64_t number = 0;
  std::int64_t process = -1;  // process whose `descriptor` refers to the file; -1: the file has a name
  std::int64_t descriptor = -1;
  std::uint32_t made = 0;  // 0: no file was created, 1: a file with control words only, 2: a file that also contains
                           // the data
  std::uint32_t unused = 0;
};

std::size_t up(std::size_t value, std::size_t unit) { return (value + unit - 1) / unit * unit; }

// Layout of the file of this process's host.
struct Plan {
  std::vector<int> ranks;  // ranks on this host
  std::vector<std::size_t> offsets;
  std::size_t control_bytes = 0;
  std::size_t bytes = 0;
  bool contiguous = false;  // see is_contiguous()
};

bool allocates(const Window& window) {
  return window.flavor_ == Flavor::kAllocate || window.flavor_ == Flavor::kShared;
}

Plan make_plan(const Window& window, const std::vector<Facts>& facts) {
  Plan plan;
  for (int rank = 0; rank < window.size(); ++rank) {
    if (rank == window.rank() || p2p::shares_memory(window.proc(rank))) plan.ranks.push_back(rank);
  }
  plan.control_bytes = up(plan.ranks.size() * sizeof(Control), kPage);
  plan.bytes = plan.control_bytes;
  if (!allocates(window)) return plan;
  plan.contiguous = is_contiguous(window, facts);
  std::size_t alignment = kLeastAlignment;
  for (const int rank : plan.ranks) {
    alignment = std::max(alignment, static_cast<std::size_t>(facts[static_cast<std::size_t>(rank)].alignment));
  }
  for (const int rank : plan.ranks) {
    const auto bytes = static_cast<std::size_t>(facts[static_cast<std::size_t>(rank)].bytes);
    // Parts of a page or more begin at a page boundary, so that each page has one owner.
    const std::size_t unit = plan.contiguous ? 1 : bytes >= kPage ? std::max(alignment, kPage) : alignment;
    plan.offsets.push_back(up(plan.bytes, unit));
    plan.bytes = plan.offsets.back() + bytes;
  }
  plan.bytes = up(plan.bytes, kPage);
  return plan;
}

std::string path_of(int maker, std::uint64_t number) {
  return knobs().shm_dir + "/headrace." + boot::identity().job_id + ".win." + std::to_string(maker) + "." +
         std::to_string(number);
}

// True if the file has been opened; otherwise the window uses no shared memory.
bool opened(Status status) {
  if (status.ok()) return true;
  log::note_once(state->sharing_failed, "one-sided communication uses messages: %s", take_detail().c_str());
  return false;
}

Place make_file(Window& window, const Plan& plan) {
  Place place;
  place.number = state->files_made++;
  const std::string path = path_of(boot::processes().self(), place.number);
  window.file_ = std::make_unique<SharedFile>(kRemedy);
  const bool wants_data = plan.bytes > plan.control_bytes;
  // Data of any length that the program asks for could use up the system's memory if no directory limits it.
  const SharedFile::Room room = wants_data ? SharedFile::Room::kDirectory : SharedFile::Room::kAnywhere;
  if (!opened(window.file_->create_hidden(path, plan.bytes, plan.control_bytes, room))) {
    window.file_.reset();
    return place;
  }
  place.made = wants_data ? 2 : 1;
  if (window.file_->hidden()) {
    place.process = ::getpid();
    place.descriptor = window.file_->descriptor();
  }
  return place;
}

bool join_file(Window& window, const Plan& plan, const Place& place) {
  if (plan.ranks.front() == window.rank()) return place.made != 0;
  if (place.made == 0) return false;
  window.file_ = std::make_unique<SharedFile>(kRemedy);
  const std::string name = place.process >= 0 ? SharedFile::name_of(place.process, static_cast<int>(place.descriptor))
                                              : path_of(window.proc(plan.ranks.front()), place.number);
  if (opened(window.file_->attach(name, plan.bytes))) return true;
  window.file_.reset();
  return false;
}

// Allocates the pages of this process's data; false if there is no memory.
bool reserve_own(Window& window, const Plan& plan) {
  for (std::size_t i = 0; i < plan.offsets.size(); ++i) {
    const auto bytes = static_cast<std::size_t>(window.own().bytes);
    if (plan.ranks[i] == window.rank() && bytes != 0) return opened(window.file_->reserve(plan.offsets[i], bytes));
  }
  return true;
}

void place_members(Window& window, const Plan& plan, bool data) {
  std::byte* const begin = window.file_->data();
  for (std::size_t i = 0; i < plan.ranks.size(); ++i) {
    Member& member = window.member(plan.ranks[i]);
    member.control = reinterpret_cast<Control*>(begin) + i;
    if (!data) continue;
    // In a contiguous window, even an empty part has an address among the others (MPI 5.0 section 12.2.3).
    member.base = member.bytes != 0 || plan.contiguous ? begin + plan.offsets[i] : nullptr;
    member.path = plan.ranks[i] == window.rank() ? Path::kOwn : Path::kMapped;
  }
}

void keep_control_private(Window& window) {
  window.own_control_ = std::make_unique<Control>();
  window.own().control = window.own_control_.get();
}

}  // namespace

bool is_contiguous(const Window& window, const std::vector<Facts>& facts) {
  return window.flavor_ == Flavor::kShared &&
         std::none_of(facts.begin(), facts.end(), [](const Facts& its) { return its.apart != 0; });
}

comm::Members exchange_members(const Window& window, int tag) {
  const comm::Group& group = *window.group_;
  return {group.procs(), group.size(), group.rank(), window.context() + comm::kSharedMemoryContext, tag};
}

Status share_memory(Window& window, const std::vector<Facts>& facts, bool* shared) {
  *shared = false;
  const Plan plan = make_plan(window, facts);
  const auto size = static_cast<std::size_t>(window.size());
  const bool makes = plan.ranks.front() == window.rank();
  // A process that is alone on its host shares no memory.
  const bool alone = plan.ranks.size() == 1;
  Place own;
  if (makes && !alone) own = make_file(window, plan);
  std::vector<Place> places(size);
  HR_TRY(p2p::run_blocking(comm::allgather(exchange_members(window, kPlaceTag), &own, sizeof own,
                                           reinterpret_cast<std::byte*>(places.data()))));
  const Place& place = places[static_cast<std::size_t>(plan.ranks.front())];
  const bool joined = alone || join_file(window, plan, place);
  const bool reserved = alone || (joined && reserve_own(window, plan));
  const bool barriers = process_barrier::register_this_process();
  // Bit 0: control words are shared wherever a host has several members; bit 1: the data is also shared; bit 2: process
  // barriers work.
  std::uint64_t facts_of_all = (joined ? 1U : 0U) | (reserved ? 2U : 0U) | (barriers ? 4U : 0U);
  HR_TRY(p2p::run_blocking(comm::and_reduce(exchange_members(window, kAgreeTag), &facts_of_all, 1)));
  if (makes && window.file_) window.file_->unlink();
  *shared = allocates(window) && (facts_of_all & 3) == 3;
  if (alone || (facts_of_all & 1) == 0) {
    window.file_.reset();
    keep_control_private(window);
    return kOk;
  }
  place_members(window, plan, *shared);
  window.shared_words_ = {reinterpret_cast<Control*>(window.file_->data()), plan.ranks.size()};
  if (!*shared) return kOk;
  window.updaters_ = window.shared_words_;
  window.own_words_ = window.own().control;
  window.updates_by_barrier_ = (facts_of_all & 4) != 0;
  return kOk;
}

Status allocate_private(Window& window, std::size_t bytes, std::size_t alignment) {
  const std::size_t unit = std::max({alignment, kLeastAlignment, bytes >= kPage ? kPage : std::size_t{1}});
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(unit, up(std::max(bytes, std::size_t{1}), unit)));
  if (memory == nullptr) return fail(Errc::kNoMem, "no memory for %zu bytes of a window", bytes);
  window.memory_.reset(memory);
  return kOk;
}

void Window::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

}  // namespace hr::rma
