// Window: memory of a group of processes that each of them may read, write and update (MPI 5.0 chapter 12).
//
// A window has its own communicator, with the group of the communicator from which the window was created. Its context
// identifies the window on all members; it is used for the window's barriers and data messages.
//
// The path over which an origin accesses a target's memory (Path) is determined when the window is created, and stored
// in the target's Member entry:
//   own      this process's own memory
//   mapped   memory that both processes have mapped: the origin loads, stores and updates it without the target
//   read     host memory that this process can read and write with system calls (Transport::get(), put() without a
//            key): put and get do not involve the target; accumulates use messages
//   network  host memory on another host that the network itself reads and writes (network.hpp): contiguous puts and
//            gets do not involve the target; all else uses messages
//   message  the target executes the operation when it makes progress (serve.hpp)
// Accumulates over all paths are atomic with respect to each other (atomic.hpp).
//
// Locks of passive target synchronization are words (lock_word.hpp) in memory that the processes on a host share. A
// process on the same host takes the lock itself; a process on another host sends a request to the target, which takes
// the lock on its behalf.
//
// Owner: reference counted; the program's handle and each pending operation hold references. MPI_Win_free waits for all
// pending operations. Threads: library lock; words in shared memory: atomic operations. If the process has channels,
// the calls of direct.hpp use the window without the library lock: they read what is constant after creation and what
// describes the epoch, whose changes the program orders with them, and change the epoch under `threads`.
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
#include "base/relaxed.hpp"
#include "base/shared_file.hpp"
#include "base/spin_lock.hpp"
#include "comm/communicator.hpp"
#include "layout/datatype.hpp"
#include "mem/mem.hpp"
#include "rma/exclusion.hpp"
#include "rma/lock_word.hpp"
#include "transport/transport.hpp"

namespace hr::mem::device {
struct Mapping;
}

namespace hr::rma {

enum class Flavor : std::uint8_t { kCreate, kAllocate, kDynamic, kShared };
enum class Path : std::uint8_t { kOwn, kMapped, kRead, kNetwork, kMessage };

// Memory of this process that is attached to a dynamic window (section 12.2.4).
struct Attached {
  std::uintptr_t begin = 0;
  std::size_t bytes = 0;
};

// One process of the window, as seen by this process.
struct Member {
  std::byte* base = nullptr;    // kOwn and kMapped: address of its memory in this process
  std::uint64_t address = 0;    // address of its memory in the member's process; 0 in dynamic windows
  Count bytes = 0;              // size of its memory
  Count displacement_unit = 1;  // bytes
  Control* control = nullptr;   // words of the member, if this process can access them
  Path path = Path::kMessage;
  std::unique_ptr<mem::Location> device;  // mapped device memory; null: host memory
  // The transport that reads and writes the memory: for kRead, and for kNetwork after the first use.
  transport::Transport* memory = nullptr;
  std::unique_ptr<transport::RemoteKey> key;  // kNetwork

  std::byte* words = nullptr;  // equals `base` for host memory that is always accessible (quick.hpp); else null

  // --- This process as the origin ---
  enum class Lock : std::uint8_t { kNone, kShared, kExclusive, kUnchecked };
  Lock lock = Lock::kNone;       // held by this process, or assumed to be (MPI_MODE_NOCHECK)
  bool lock_granted = false;     // the target has granted the lock with a message
  bool started = false;          // true if the member is in the group of MPI_Win_start
  bool unflushed = false;        // puts over the network may not have arrived; counts as one unanswered operation
  std::uint32_t unanswered = 0;  // operations that the target has not answered or the network has not executed
  std::uint32_t unsent = 0;      // number of unanswered operations that still use the origin's buffers
  std::uint32_t next_tag = 0;    // next tag for data messages
  // --- This process as the target ---
  bool posted = false;      // true if the member is in the group of MPI_Win_post
  Lock lent = Lock::kNone;  // lock on this process's memory, granted to the member with a message
  bool asks = false;        // true if the member waits for the lock
  // Numbers of accumulates from the member that have arrived, and that have been applied. They are applied in order of
  // arrival (serve.cpp).
  std::uint32_t accumulates_come = 0;
  std::uint32_t accumulates_done = 0;
  // --- Messages that have arrived, and that no call has consumed yet ---
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
  // True if the locks are words that other processes on this host can also access: releasing one does not wake a
  // waiting process.
  [[nodiscard]] bool is_unlocked_silently() const noexcept { return own_control_ == nullptr; }
  // Returns the exclusion for updates of a member's memory by this process.
  [[nodiscard]] Exclusion exclusion(const Member& target) noexcept {
    return {target.control, own_words_, updaters_, updates_by_barrier_, threads()};
  }
  // Returns the lock that threads take which use the window without the library lock; null if there are none.
  [[nodiscard]] SpinLock* threads() noexcept { return for_threads_ ? &threads_ : nullptr; }
  // Begin and end the epoch of one more lock (MPI_Win_lock).
  void begin_lock() noexcept {
    const HeldIf held(threads());
    epoch_ = Epoch::kLock;
    ++locks_;
  }
  void end_lock() noexcept {
    const HeldIf held(threads());
    if (--locks_ == 0) epoch_ = Epoch::kNone;
  }

  Flavor flavor_ = Flavor::kCreate;
  Ref<comm::Communicator> comm_;  // the window's own communicator
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

  // --- Hints in use (hints.cpp) ---
  Ref<comm::Info> hints_;
  bool no_locks_ = false;

  // --- Epochs ---
  int size_ = 0;
  int own_rank_ = 0;
  bool for_threads_ = false;             // threads may use the window without the library lock
  bool direct_ = false;                  // all members have `words`, so that no operation needs a message
  Relaxed<Epoch> epoch_ = Epoch::kNone;  // access epoch
  Relaxed<bool> fence_used_ = false;     // operations have been started since the last fence
  int locks_ = 0;                        // number of members that this process has locked
  bool nobody_locked_ = false;           // MPI_PROC_NULL is locked
  bool exposed_ = false;                 // MPI_Win_post has opened an exposure epoch
  std::vector<int> start_ranks_;         // groups of MPI_Win_start and MPI_Win_post
  std::vector<int> post_ranks_;
  std::uint32_t unanswered_ = 0;  // sum over all members
  std::uint32_t unflushed_ = 0;   // number of members with unflushed puts
  // First failure of an operation without a request, for the call that ends the epoch.
  Status failure_ = kOk;
  std::string why_;

  // --- For exclusion(): processes that have mapped the members' memory, including this one ---
  std::span<Control> updaters_;
  std::span<Control> shared_words_;  // control words of the processes on this host
  Control* own_words_ = nullptr;
  bool updates_by_barrier_ = false;

  // --- Memory that this process has allocated or mapped for the window ---
  std::unique_ptr<SharedFile> file_;
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;  // allocated if no data is shared
  transport::RemoteKey key_{};               // key for access to this process's part over the network; empty if there
                                             // is none
  std::vector<mem::device::Mapping*> mappings_;  // mappings of others' device memory (device.hpp)
  std::unique_ptr<Control> own_control_;         // set if the control words are not shared

 private:
  alignas(kCacheLine) SpinLock threads_;
};

}  // namespace hr::rma
