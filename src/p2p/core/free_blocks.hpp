// FreeBlocks: memory of destroyed records and coroutine frames, kept for the next ones of the same size, so that bursts
// of small messages do not call malloc repeatedly.
//
// Owner: the engine, which frees it. Threads: library lock.
#pragma once

#include <array>
#include <cstddef>
#include <new>

namespace hr::p2p {

class FreeBlocks {
 public:
  FreeBlocks() = default;
  FreeBlocks(const FreeBlocks&) = delete;
  FreeBlocks& operator=(const FreeBlocks&) = delete;
  ~FreeBlocks() {
    for (const Class& each : classes_) {
      for (Block* block = each.first; block != nullptr;) {
        Block* const next = block->next;
        ::operator delete(block);
        block = next;
      }
    }
  }

  [[nodiscard]] void* take(std::size_t bytes) {
    const std::size_t index = index_of(bytes);
    if (index >= kClasses || classes_[index].first == nullptr) return allocate(bytes);
    Class& from = classes_[index];
    Block* const block = from.first;
    from.first = block->next;
    --from.count;
    return block;
  }
  // `bytes`: the size with which the memory was taken or allocated.
  void give_back(void* memory, std::size_t bytes) noexcept {
    const std::size_t index = index_of(bytes);
    if (index >= kClasses || classes_[index].count == kMostKept) return ::operator delete(memory);
    Class& to = classes_[index];
    to.first = ::new (memory) Block{to.first};
    ++to.count;
  }
  // Allocates memory that may be given back to any FreeBlocks, or to operator delete.
  [[nodiscard]] static void* allocate(std::size_t bytes) { return ::operator new((index_of(bytes) + 1) * kGrain); }

 private:
  static constexpr std::size_t kGrain = 64;
  static constexpr std::size_t kClasses = 64;  // longer blocks are not kept
  static constexpr std::size_t kMostKept = 1024;
  struct Block {
    Block* next;
  };
  struct Class {
    Block* first = nullptr;
    std::size_t count = 0;
  };

  static std::size_t index_of(std::size_t bytes) noexcept { return (bytes - 1) / kGrain; }

  std::array<Class, kClasses> classes_{};
};

}  // namespace hr::p2p
