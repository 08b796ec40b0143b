#include "mem/thread_heaps.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <atomic>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace hr::mem {
namespace {

// Heaps from which glibc serves threads other than the first (arenas): each is a range of 64 MiB, aligned to its size,
// that stays reserved as long as it holds a block. One block is kept in each heap of the table for that.
constexpr unsigned kHeapBits = 26;
constexpr std::size_t kHeaps = 1024;
struct ThreadHeap {
  std::atomic<std::uintptr_t> number{0};  // of the range
  void* block = nullptr;
};
ThreadHeap thread_heaps[kHeaps];

std::uintptr_t number_of_heap(std::uintptr_t address) noexcept { return address >> kHeapBits; }

// True if malloc() is that of glibc, and not of another library.
bool has_glibc_heaps() noexcept {
  Dl_info allocator, library;
  return ::dladdr(reinterpret_cast<void*>(&std::malloc), &allocator) != 0 &&
         ::dladdr(reinterpret_cast<void*>(&::gnu_get_libc_version), &library) != 0 &&
         allocator.dli_fbase == library.dli_fbase;
}

// True if the system maps all of the range for the process alone, without a file, and its beginning up to `used` for
// reading and writing.
bool is_reserved(const Range& range, std::uintptr_t used) noexcept {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return false;
  char line[512];
  std::uintptr_t covered = range.begin;
  while (covered < range.end && std::fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t begin = 0, end = 0;
    unsigned long file = 0;
    char access[5] = {};
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s %*s %*s %lu", &begin, &end, access, &file) != 4) continue;
    if (end <= covered) continue;
    const bool is_plain = file == 0 && (std::strcmp(access, "rw-p") == 0 || std::strcmp(access, "---p") == 0);
    if (begin > covered || !is_plain || (covered == range.begin && (access[0] != 'r' || end <= used))) break;
    covered = end;
  }
  std::fclose(maps);
  return covered >= range.end;
}

// True if the range, which holds a block that malloc() has returned, is a heap of a thread.
bool is_thread_heap(const Range& range, std::uintptr_t block) noexcept {
  constexpr std::size_t kOfThread = 4;  // a bit in the word before each block: not from the first heap
  if ((reinterpret_cast<const std::size_t*>(block)[-1] & kOfThread) == 0 || !is_reserved(range, block)) return false;
  // Words at the beginning of a heap: its arena, the heap before it, its size, and the size that is accessible.
  const auto* const words = reinterpret_cast<const std::size_t*>(range.begin);
  const std::size_t size = words[2];
  return words[0] != 0 && block < range.begin + size && size <= words[3] && words[3] <= range.end - range.begin;
}

}  // namespace

bool in_thread_heap(std::uintptr_t address) noexcept {
  const std::uintptr_t number = number_of_heap(address);
  return thread_heaps[number % kHeaps].number.load(std::memory_order_relaxed) == number;
}

void learn_host(const void* pointer) noexcept {
  static const bool can_learn = has_glibc_heaps();
  thread_local unsigned calls = 0;
  if (!can_learn || !std::has_single_bit(++calls)) return;
  const std::uintptr_t number = number_of_heap(reinterpret_cast<std::uintptr_t>(pointer));
  ThreadHeap& entry = thread_heaps[number % kHeaps];
  if (entry.number.load(std::memory_order_relaxed) != 0) return;
  void* const block = std::malloc(1);
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  const Range range{number << kHeapBits, (number + 1) << kHeapBits};
  std::uintptr_t none = 0;
  if (block != nullptr && range.has(address) && is_thread_heap(range, address) &&
      entry.number.compare_exchange_strong(none, number, std::memory_order_relaxed)) {
    entry.block = block;
    return;
  }
  std::free(block);
}

}  // namespace hr::mem
