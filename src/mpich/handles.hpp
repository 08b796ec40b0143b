// Tables that map between MPICH's handles, which are ints, and ours, which are addresses.
//
// Predefined handles are in tables made from api/mpich.yaml. The handle of an object that the program made is the
// number of a slot, which holds the address, so that in() is two loads. The reverse direction is needed for callbacks
// and for functions that return an existing object (a communicator's error handler). So slots can be looked up by
// address, and a second handle for an object is the same number, which then counts one more use. Requests and messages
// are returned only once: they need only a slot. An empty slot, and anything that is not a handle, becomes a null
// pointer, which libmpi_abi.so.1 rejects.
//
// Threads: any. A slot's address is written before its number is returned. Objects: one mutex per kind. Requests: each
// thread keeps some empty slots, and takes the mutex only to get more or to return some.
#pragma once

#include <atomic>
#include <cstdint>

#include "mpich/values.hpp"

namespace hr::mpich {

inline constexpr unsigned kChunkBits = 12;
inline constexpr unsigned kChunkSlots = 1U << kChunkBits;
inline constexpr unsigned kIndexMask = 0x3ffffff;
inline constexpr unsigned kChunks = (kIndexMask + 1) >> kChunkBits;

struct Slot {
  std::atomic<void*> object;  // null: empty
  unsigned next;              // the next empty slot, while this one is empty
  unsigned uses;              // number of the object's handles that the program has not freed
};

// Slots of one kind; grows in chunks, which never move and are never freed.
class Slots {
 public:
  void* find(unsigned index) const noexcept {
    const Slot* chunk = chunks_[index >> kChunkBits].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk[index & (kChunkSlots - 1)].object.load(std::memory_order_relaxed);
  }
  // Callers of the functions below, except at(), hold the kind's mutex.
  unsigned take(void* object) noexcept {
    if (free_ == 0) [[unlikely]]
      grow();
    const unsigned index = free_;
    Slot& slot = at(index);
    free_ = slot.next;
    slot.uses = 1;
    slot.object.store(object, std::memory_order_relaxed);
    return index;
  }
  void give_back(unsigned index) noexcept {
    Slot& slot = at(index);
    slot.object.store(nullptr, std::memory_order_relaxed);
    slot.next = free_;
    free_ = index;
  }
  Slot& at(unsigned index) noexcept {
    return chunks_[index >> kChunkBits].load(std::memory_order_relaxed)[index & (kChunkSlots - 1)];
  }

 private:
  void grow() noexcept;

  std::atomic<Slot*> chunks_[kChunks] = {};
  unsigned free_ = 0;   // 0: none; slot 0 is never used
  unsigned grown_ = 0;  // number of chunks that exist
};

// Empty slots that a thread keeps while it runs.
struct Kept {
  unsigned first;  // 0: none
  unsigned count;
};

template <Kind kind>
class Table {
 public:
  static void* find(int handle) noexcept { return slots_.find(static_cast<unsigned>(handle) & kIndexMask); }
  static int add(void* object) noexcept { return static_cast<int>(Traits<kind>::kPrefix | index_of(object)); }
  // Drops one handle. Does nothing for an unused number.
  static void drop(int handle) noexcept {
    const unsigned index = static_cast<unsigned>(handle) & kIndexMask;
    if constexpr (!Traits<kind>::kFresh) {
      drop_known(index);
    } else if (slots_.find(index) != nullptr) {
      Slot& slot = slots_.at(index);
      slot.object.store(nullptr, std::memory_order_relaxed);
      slot.next = kept_.first;
      kept_.first = index;
      if (++kept_.count > kMostKept) [[unlikely]]
        give_back_kept();
    }
  }

 private:
  static unsigned index_of(void* object) noexcept {
    if constexpr (!Traits<kind>::kFresh) return add_known(object);
    if (kept_.first == 0) [[unlikely]]
      get_more();
    const unsigned index = kept_.first;
    Slot& slot = slots_.at(index);
    kept_.first = slot.next;
    --kept_.count;
    slot.object.store(object, std::memory_order_relaxed);
    return index;
  }
  static unsigned add_known(void* object) noexcept;
  static void drop_known(unsigned index) noexcept;
  static void get_more() noexcept;
  static void give_back_kept() noexcept;

  static constexpr unsigned kMostKept = 512;
  // The variable's location is known at load time, so that access needs no call.
  static constinit thread_local Kept kept_ __attribute__((tls_model("initial-exec")));
  inline static Slots slots_;
};

// Translates MPICH's handle to the standard library's.
template <Kind kind>
inline typename Traits<kind>::Standard in(int handle) noexcept {
  using T = Traits<kind>;
  using Standard = typename T::Standard;
  const auto bits = static_cast<unsigned>(handle);
  const unsigned low = bits & 0xff;
  if (low < T::kPredefined && T::predefined[low].handle == handle) {
    return reinterpret_cast<Standard>(T::predefined[low].standard);
  }
  if ((bits & ~kIndexMask) == T::kPrefix) {
    if constexpr (T::kFirst > 0) {
      if ((bits & kIndexMask) < T::kFirst) {
        for (const Predefined& row : T::direct) {
          if (static_cast<int>(bits & kIndexMask) == row.handle) return reinterpret_cast<Standard>(row.standard);
        }
      }
    }
    return static_cast<Standard>(Table<kind>::find(handle));
  }
  if (handle == T::kNull) return reinterpret_cast<Standard>(T::kStandardNull);
  return nullptr;
}

// Translates the standard library's handle to MPICH's, for the program; counts one more use, unless it is predefined.
template <Kind kind>
inline int out(typename Traits<kind>::Standard object) noexcept {
  const auto value = reinterpret_cast<std::uintptr_t>(object);
  if (value < kStandardPredefined) {
    if (value == Traits<kind>::kStandardNull) return Traits<kind>::kNull;
    if (kPredefinedHandles[value] != 0) return kPredefinedHandles[value];
  }
  return Table<kind>::add(object);
}

// Drops a handle that the program no longer has.
template <Kind kind>
inline void drop(int handle) noexcept {
  if ((static_cast<unsigned>(handle) & ~kIndexMask) == Traits<kind>::kPrefix) Table<kind>::drop(handle);
}

}  // namespace hr::mpich
