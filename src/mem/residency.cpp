#include "mem/residency.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

namespace hr::mem {
namespace {

constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;

int open_page_table() noexcept { return ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC); }

}  // namespace

bool mapped_for_host(const void* address) noexcept {
  static const int table = open_page_table();  // stays open until the process ends
  static const long page = ::sysconf(_SC_PAGESIZE);
  if (table < 0) return true;
  std::uint64_t entry = 0;
  const std::uintptr_t number = reinterpret_cast<std::uintptr_t>(address) / static_cast<std::uintptr_t>(page);
  const ssize_t got = ::pread(table, &entry, sizeof entry, static_cast<off_t>(number * sizeof entry));
  return got != sizeof entry || (entry & kPresent) != 0;
}

}  // namespace hr::mem
