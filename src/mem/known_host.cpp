#include "mem/known_host.hpp"

#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "mem/thread_heaps.hpp"

namespace hr::mem {
namespace {

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

bool in_heap(std::uintptr_t address) noexcept {
  const std::uintptr_t begin = heap.load(std::memory_order_relaxed);
  return begin != 0 && address >= begin && address < reinterpret_cast<std::uintptr_t>(::sbrk(0));
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

}  // namespace

bool known_host(const void* pointer) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return on_own_stack(address, frame) || in_heap(address) || in_thread_heap(address) ||
         known_host_slowly(address, frame);
}

}  // namespace hr::mem
