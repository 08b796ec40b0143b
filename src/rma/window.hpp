// Window: memory of a group of processes that each of them may read, write and update (MPI 5.0 chapter 12).
//
// A window has a separate communicator, made of the group of the one it was made from: its context is the window's
// number on all members, its collectives are the window's barriers, its messages the window's data.
//
// An origin accesses a target's memory according to the way it reaches it (Path), which is determined when the window
// is made and kept in its Member entry:
//   own      this process's own memory
//   mapped   memory that both have mapped: the origin loads, stores and updates, and the target takes no part
//   read     host memory that the system lets this process read and write (Transport::get(), put() without a key):
//            put and get need nothing of the target, accumulates go by messages
//   message  the target does it when it makes progress (serve.hpp)
// Accumulates of all paths are atomic towards each other: atomic.hpp.
//
// Locks of passive target are words (lock_word.hpp): in memory that the processes of one host share, where each takes
// it by itself; a process of another host asks the target, which takes it on its behalf.
//
// Owner: reference counted; the program's handle is one reference, operations under way hold others. MPI_Win_free waits
// for all operations under way. Threads: library lock; words in shared memory, by atomic operations.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/attributes.hpp"
#include "base/count.hpp"
#include "base/list.hpp"
#include "base/object.hpp"
#include "base/shared_file.hpp"
#include "comm/communicator.hpp"
#include "layout/datatype.hpp"
#include "mem/mem.hpp"
#include "rma/exclusion.hpp"
#include "rma/lock_word.hpp"
#include "transport/transport.hpp"

namespace hr::mem::cuda {
struct Mapping;
}

namespace hr::rma {

enum class Flavor : std::uint8_t { kCreate, kAllocate, kDynamic, kShared };
enum class Path : std::uint8_t { kOwn, kMapped, kRead, kMessage };

// Memory of this process attached to a dynamic window (section 12.2.4).
struct Attached {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

// One process of the window, as this one sees it.
struct Member {
  std::byte* base = nullptr;    // own and mapped: its memory's address in this process
  std::uint64_t address = 0;    // its address in that process; 0 in dynamic windows
  Count bytes = 0;              // its size
  Count displacement_unit = 1;  // bytes
  Control* control = nullptr;   // its words, if both reach them
  Path path = Path::kMessage;
  std::unique_ptr<mem::Location> device;   // mapped memory of a device; null: it is the host's
  transport::Transport* memory = nullptr;  // kRead: the transport that reads and writes it

  std::byte* words = nullptr;  // `base` of host memory that is reached at any time: quick.hpp

  // --- as an origin ---
  enum class Lock : std::uint8_t { kNone, kShared, kExclusive, kUnchecked };
  Lock lock = Lock::kNone;       // held by this process, or taken as held (MPI_MODE_NOCHECK)
  bool lock_granted = false;     // by a message of the target's
  bool started = false;          // in the group of MPI_Win_start
  std::uint32_t unanswered = 0;  // operations by messages that the target has not done yet
  std::uint32_t unsent = 0;      // those of them that still use buffers of the origin
  std::uint32_t next_tag = 0;    // of their data
  // --- as a target ---
  bool posted = false;      // in the group of MPI_Win_post
  Lock lent = Lock::kNone;  // of this process's memory, granted to that one by a message
  bool asks = false;        // waits for that
  // Accumulates of that process, which are applied in the order they came (serve.cpp): arrived so far, and applied.
  std::uint32_t accumulates_come = 0;
  std::uint32_t accumulates_done = 0;
  // --- messages that have come, and that no call has used up ---
  std::uint32_t posts = 0;
  std::uint32_t completes = 0;
};

// Location of the target's elements in a communication call.
struct Target {
  int rank;
  Count displacement;
  Count count;
  layout::Datatype& type;
};

enum class Epoch : std::uint8_t { kNone, kFence, kStart, kLock, kLockAll };

class Window final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kWindow;
  Window() noexcept : Object(kKind) {}
  ~Window();

  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] int rank() const noexcept { return comm_->rank(); }
  [[nodiscard]] int proc(int rank) const noexcept { return comm_->peer_proc(rank); }
  [[nodiscard]] std::uint32_t context() const noexcept { return comm_->context(); }
  [[nodiscard]] Member& member(int rank) noexcept { return members_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Member& own() noexcept { return member(rank()); }
  // True if locks are words that other processes of this host reach as well: releasing one wakes no process.
  [[nodiscard]] bool is_unlocked_silently() const noexcept { return own_control_ == nullptr; }
  // Exclusion for updates of a member's memory by this process.
  [[nodiscard]] Exclusion exclusion(const Member& target) noexcept {
    return {target.control, own_words_, updaters_, updates_by_barrier_};
  }

  Flavor flavor_ = Flavor::kCreate;
  Ref<comm::Communicator> comm_;  // the window's own
  Ref<comm::Group> group_;
  Ref<comm::Errhandler> errhandler_;
  AttributeSet attributes_;
  std::string name_;
  std::vector<Member> members_;  // by rank
  // This process's memory.
  mem::Location where_;
  std::vector<Attached> attached_;  // dynamic windows

  // Values that MPI_Win_get_attr points to (section 12.2.6).
  struct {
    void* base = nullptr;
    Count size = 0;
    int displacement_unit = 1;
    int flavor = 0;
    int model = 0;
  } values_;

  // --- hints in use (hints.cpp) ---
  Ref<comm::Info> hints_;
  bool no_locks_ = false;

  // --- epochs ---
  int size_ = 0;
  bool stored_ = false;           // by this process into memory of others since the last fence of memory
  Epoch epoch_ = Epoch::kNone;    // of access
  bool fence_used_ = false;       // operations have been started since the last fence
  int locks_ = 0;                 // members with a lock
  bool nobody_locked_ = false;    // MPI_PROC_NULL is
  bool exposed_ = false;          // MPI_Win_post
  std::vector<int> start_ranks_;  // groups of MPI_Win_start and MPI_Win_post
  std::vector<int> post_ranks_;
  std::uint32_t unanswered_ = 0;  // sum of the members'
  // First failure of an operation that had no request: for the call that ends the epoch.
  Status failure_ = kOk;
  std::string why_;

  // --- for exclusion(): processes that have mapped the members' memory, this one among them ---
  std::span<Control> updaters_;
  std::span<Control> shared_words_;  // of the processes of this host
  Control* own_words_ = nullptr;
  bool updates_by_barrier_ = false;

  // --- memory that this process gave or mapped for the window ---
  std::unique_ptr<SharedFile> file_;
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;    // allocated if nothing is shared
  std::vector<mem::cuda::Mapping*> mappings_;  // of devices of others (device.hpp)
  std::unique_ptr<Control> own_control_;       // if it is not shared
};

}  // namespace hr::rma
