// Threads of a rank that work at the same time, each bound to a separate core on request.
#pragma once

#include <cstddef>
#include <functional>
#include <new>
#include <vector>

#include "common/world.hpp"

namespace bench {

class Threads {
 public:
  // Collective. `bind`: threads are bound to cores, if there are enough for the threads of all ranks on the node. Ranks
  // that the launcher has bound to separate cores use those; other ranks divide their common cores among themselves.
  Threads(const World& world, bool bind);
  // Calls work(t) in `count` threads, of which the first one is the caller, and returns once all have returned.
  void run(std::size_t count, const std::function<void(std::size_t)>& work) const;

 private:
  std::vector<int> cores_;
  std::size_t place_ = 0;  // of this rank among those that share the cores
  bool bind_;
};

// Memory of one thread, which shares no pair of cache lines with that of another.
template <class T>
struct ApartAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{128};
  ApartAllocator() = default;
  template <class U>
  ApartAllocator(const ApartAllocator<U>&) noexcept {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(rounded(n), kAlignment)); }
  void deallocate(T* memory, std::size_t) noexcept { ::operator delete(memory, kAlignment); }
  bool operator==(const ApartAllocator&) const noexcept { return true; }

 private:
  static std::size_t rounded(std::size_t n) noexcept { return (n * sizeof(T) + 127) / 128 * 128; }
};
using ApartBytes = std::vector<unsigned char, ApartAllocator<unsigned char>>;

}  // namespace bench
