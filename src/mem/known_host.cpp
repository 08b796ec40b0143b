#include "mem/known_host.hpp"

#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

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

// True if the address is in the part of the stack that is in use. Below that, where the stack can still grow, there may
// be another mapping.
[[gnu::noinline]] bool on_own_stack(std::uintptr_t address) noexcept {
  if (address < reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0))) return false;
  thread_local const Range stack = own_stack();
  return address < stack.end;
}

}  // namespace

bool known_host(const void* pointer) noexcept {
  static const struct {
    std::uintptr_t heap = heap_begin();
    Range data = program_data();
  } fixed;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (fixed.heap != 0 && address >= fixed.heap && address < reinterpret_cast<std::uintptr_t>(::sbrk(0))) return true;
  return fixed.data.has(address) || on_own_stack(address);
}

}  // namespace hr::mem
