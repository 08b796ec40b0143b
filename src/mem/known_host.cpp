#include "mem/known_host.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// The end of the heap in glibc, which sbrk(0) returns in more instructions.
extern "C" [[gnu::weak]] void* __curbrk;  // NOLINT(bugprone-reserved-identifier)

namespace hr::mem {
namespace {

struct Range {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  [[nodiscard]] bool has(std::uintptr_t address) const noexcept { return address - begin < end - begin; }
};

// Returns the writable segment of the program itself, which dl_iterate_phdr() reports first.
Range program_data() noexcept {
  Range data;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr) & segment = info->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
          const std::uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
          *static_cast<Range*>(found) = {begin, begin + segment.p_memsz};
        }
        return 1;
      },
      &data);
  return data;
}

// Returns the start of the heap, which never changes; 0 if the system does not report it.
std::uintptr_t heap_begin() noexcept {
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return 0;
  char line[512];
  unsigned long begin = 0;
  bool found = false;
  while (!found && std::fgets(line, sizeof line, maps) != nullptr) {
    found = std::strstr(line, "[heap]") != nullptr && std::sscanf(line, "%lx-", &begin) == 1;
  }
  std::fclose(maps);
  return found ? begin : 0;
}

Range own_stack() noexcept {
  Range stack;
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return stack;
  void* low = nullptr;
  std::size_t bytes = 0;
  if (::pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
    stack.begin = reinterpret_cast<std::uintptr_t>(low);
    stack.end = stack.begin + bytes;
  }
  ::pthread_attr_destroy(&attributes);
  return stack;
}

// Range of the calling thread's stack; empty until the system has been asked for it.
__attribute__((tls_model("initial-exec"))) constinit thread_local Range stack{};

// True if the address is in the part of the stack above `frame`, which is in use. Below that, where the stack can still
// grow, there may be another mapping. A thread may also run on memory that is not its stack.
bool on_own_stack(std::uintptr_t address, std::uintptr_t frame) noexcept {
  return address >= frame && address < stack.end && frame >= stack.begin;
}

// Start of the heap that grows from the end of the program; 0: not known, or not known yet.
std::atomic<std::uintptr_t> heap{0};

std::uintptr_t heap_end() noexcept {
  return reinterpret_cast<std::uintptr_t>(&__curbrk != nullptr ? __curbrk : ::sbrk(0));
}

bool in_heap(std::uintptr_t address) noexcept {
  const std::uintptr_t begin = heap.load(std::memory_order_relaxed);
  return begin != 0 && address >= begin && address < heap_end();
}

// known_host(), for addresses that are not found at once.
[[gnu::noinline]] bool known_host_slowly(std::uintptr_t address, std::uintptr_t frame) noexcept {
  static const Range data = [] {
    heap.store(heap_begin(), std::memory_order_relaxed);
    return program_data();
  }();
  if (data.has(address)) return true;
  if (stack.end != 0) return in_heap(address);
  stack = own_stack();
  if (stack.end == 0) stack.end = 1;  // the system does not report it
  return in_heap(address) || on_own_stack(address, frame);
}

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

bool in_thread_heap(std::uintptr_t address) noexcept {
  const std::uintptr_t number = number_of_heap(address);
  return thread_heaps[number % kHeaps].number.load(std::memory_order_relaxed) == number;
}

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

bool known_host(const void* pointer) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return on_own_stack(address, frame) || in_heap(address) || in_thread_heap(address) ||
         known_host_slowly(address, frame);
}

}  // namespace hr::mem
