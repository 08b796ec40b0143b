// Object and Arena: the objects behind opaque handles.
//
// A handle is either a small constant of the ABI (a predefined object, below 0x1000) or the address of an Object in the
// Arena of its type. An Arena has one range of addresses, which grows (growing_range.hpp) and is never released. So a
// range check and a read of the magic word show whether a handle is valid and its object alive. This test is safe for
// any value that a program passes: freed, foreign or random.
//
// Owner: the reference count. create() returns one reference; release() of the last one destroys the object.
// Threads: arenas and counts are guarded by the library lock (lock.hpp), like all state above base; a thread of the
// library takes the lock before it drops a reference. (An atomic count takes 12 to 25 ns per change, six times per
// message.) owns() needs no lock for a handle that the calling thread may use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include "base/growing_range.hpp"
#include "base/status.hpp"

namespace hr {

enum class ObjectKind : std::uint32_t {
  kCommunicator = 0x4d4d4f43,
  kRevokedCommunicator = 0x4b565252,  // kept in the arena of communicators; calls that communicate do not accept it
  kGroup = 0x50555247,
  kDatatype = 0x45505954,
  kOp = 0x504f5f5f,
  kRequest = 0x53514552,
  kMessage = 0x4753534d,
  kInfo = 0x4f464e49,
  kErrhandler = 0x48525245,
  kSession = 0x53534553,
  kWindow = 0x574f444e,
  kFile = 0x454c4946,
  kStream = 0x4d525453,
};

class Object {
 public:
  explicit Object(ObjectKind kind) noexcept : magic_(static_cast<std::uint32_t>(kind)), handle_(this) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // Any thread may ask: calls on channels look handles up without the library lock.
  [[nodiscard]] bool is(ObjectKind kind) const noexcept {
    return magic_.load(std::memory_order_relaxed) == static_cast<std::uint32_t>(kind);
  }
  // Changes the kind, and with it the set of calls that accept the object's handle.
  void become(ObjectKind kind) noexcept { mark(static_cast<std::uint32_t>(kind)); }
  // Returns the handle that programs hold: this address, or the ABI's constant for a predefined object.
  [[nodiscard]] void* handle() const noexcept { return handle_; }
  void set_predefined_handle(std::uintptr_t constant) noexcept { handle_ = reinterpret_cast<void*>(constant); }
  [[nodiscard]] bool is_predefined() const noexcept { return reinterpret_cast<std::uintptr_t>(handle_) < 0x1000; }

  void retain() noexcept { ++references_; }
  // Drops a reference. True if it was the last one: the caller must destroy the object.
  [[nodiscard]] bool drop() noexcept { return --references_ == 0; }
  [[nodiscard]] std::uint32_t references() const noexcept { return references_; }

  // Marks the memory as not a live object. Called by the arena after destruction.
  void poison() noexcept { mark(0); }

  // Reverses poison(): makes this a live object again, with one reference. Called by the arena.
  void revive(ObjectKind kind) noexcept {
    mark(static_cast<std::uint32_t>(kind));
    references_ = 1;
    handle_ = this;
  }
  // While the object is poisoned, the arena stores a link in place of the handle.
  void set_next(Object* next) noexcept { handle_ = next; }
  [[nodiscard]] void* next() const noexcept { return handle_; }

 protected:
  ~Object() = default;

 private:
  void mark(std::uint32_t magic) noexcept { magic_.store(magic, std::memory_order_relaxed); }

  std::atomic<std::uint32_t> magic_;
  std::uint32_t references_ = 1;
  void* handle_;
};

// Fixed-size slots for objects of type T (derived from Object; `static constexpr ObjectKind kKind`).
template <class T>
class Arena {
 public:
  static Arena& instance() noexcept;
  constexpr Arena() = default;

  // Returns nullptr if there is no memory for another object.
  template <class... Args>
  [[nodiscard]] T* create(Args&&... args) {
    void* slot = allocate();
    return slot == nullptr ? nullptr : ::new (slot) T(std::forward<Args>(args)...);
  }

  void destroy(T* object) {
    static_assert(sizeof(T) >= sizeof(FreeSlot) && !std::is_polymorphic_v<T>);
    object->~T();
    // The compiler may drop the destructor's own clearing of the magic word as a dead store.
    static_cast<Object*>(object)->poison();
    free_ = ::new (static_cast<void*>(object)) FreeSlot{.next = free_};
    --live_;
  }

  // Keeps an object for reuse without destroying it: reuse() returns it, unchanged and with one reference; nullptr if
  // there is none.
  void recycle(T* object) noexcept {
    object->poison();
    object->set_next(recycled_);
    recycled_ = object;
    --live_;
  }
  [[nodiscard]] T* reuse() noexcept {
    T* object = recycled_;
    if (object == nullptr) [[unlikely]]
      return nullptr;
    recycled_ = static_cast<T*>(object->next());
    object->revive(T::kKind);
    ++live_;
    return object;
  }

  // True if the address is a live object of this arena. Never reads outside its range.
  [[nodiscard]] bool owns(const void* address) const noexcept { return owns(address, T::kKind); }
  // True if the address is a live object of this arena whose kind become() has changed to `kind`.
  [[nodiscard]] bool owns(const void* address, ObjectKind kind) const noexcept {
    const auto offset = reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(base_);
    return offset < used_bytes_.load(std::memory_order_relaxed) && offset % sizeof(Slot) == 0 &&
           static_cast<const T*>(address)->is(kind);
  }

  [[nodiscard]] std::size_t live() const noexcept { return live_; }

  // Calls visit(T&) for every live object of kind `kind`.
  template <class Visit>
  void for_each(Visit&& visit, ObjectKind kind = T::kKind) {
    for (std::size_t offset = 0; offset < used_bytes_.load(std::memory_order_relaxed); offset += sizeof(Slot)) {
      T* object = reinterpret_cast<T*>(base_ + offset);
      if (object->is(kind)) visit(*object);
    }
  }

 private:
  struct alignas(T) Slot {
    std::byte storage[sizeof(T)];
  };

  static constexpr std::size_t kMost = std::size_t{1} << 30;  // bytes

  // A free slot that has held an object before. Its first word is not a magic word.
  struct FreeSlot {
    std::uint32_t magic = 0;
    FreeSlot* next;
  };

  void* allocate() {
    if (free_ != nullptr) [[likely]] {
      ++live_;
      return std::exchange(free_, free_->next);
    }
    const std::size_t used = used_bytes_.load(std::memory_order_relaxed);
    if (used + sizeof(Slot) > usable_bytes_ && !make_room(used)) [[unlikely]]
      return nullptr;
    ++live_;
    used_bytes_.store(used + sizeof(Slot), std::memory_order_relaxed);
    return base_ + used;
  }

  [[gnu::cold]] bool make_room(std::size_t used) noexcept {
    usable_bytes_ =
        base_ == nullptr ? growing_range::begin(&base_, kMost) : growing_range::grow(base_, usable_bytes_, kMost);
    return used + sizeof(Slot) <= usable_bytes_;
  }

  std::byte* base_ = nullptr;
  std::size_t usable_bytes_ = 0;             // bytes usable from base_ on
  std::atomic<std::size_t> used_bytes_ = 0;  // only grows
  FreeSlot* free_ = nullptr;
  T* recycled_ = nullptr;
  std::size_t live_ = 0;
};

namespace detail {
// The arena of a type. It exists from the start to the end of the process, as every call looks its handles up in
// arenas.
template <class T>
inline constinit Arena<T> the_arena;
}  // namespace detail

template <class T>
Arena<T>& Arena<T>::instance() noexcept {
  return detail::the_arena<T>;
}

template <class T>
void release(T* object) {
  if (object != nullptr && object->drop()) Arena<T>::instance().destroy(object);
}

// A counted reference to an Object. Ref::adopt takes over a reference, Ref::share adds one.
template <class T>
class Ref {
 public:
  Ref() = default;
  static Ref adopt(T* object) noexcept {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref share(T* object) noexcept {
    if (object != nullptr) object->retain();
    return adopt(object);
  }
  Ref(const Ref& other) noexcept : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { release(object_); }

  [[nodiscard]] T* get() const noexcept { return object_; }
  [[nodiscard]] T* detach() noexcept { return std::exchange(object_, nullptr); }
  T* operator->() const noexcept { return object_; }
  T& operator*() const noexcept { return *object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace hr
