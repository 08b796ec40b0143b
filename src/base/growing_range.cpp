#include "base/growing_range.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>

namespace hr::growing_range {
namespace {

constexpr std::size_t kFirstPiece = std::size_t{256} << 10;
constexpr std::size_t kLargestPiece = std::size_t{16} << 20;
// Below this limit, reservations for all tables would use address space that the program needs.
constexpr rlim_t kAmple = rlim_t{1} << 40;
// First address, far from those that the system chooses for programs, heaps, libraries and stacks.
constexpr std::uintptr_t kFirstPlace = 0x200000000000;
constexpr int kMostTries = 64;

std::atomic<std::uintptr_t> next_place{kFirstPlace};

std::byte* map(void* place, std::size_t bytes, int flags) noexcept {
  void* const memory =
      ::mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (place == nullptr || memory == place) return static_cast<std::byte*>(memory);
  ::munmap(memory, bytes);  // a system without MAP_FIXED_NOREPLACE treats the address as a hint
  errno = EEXIST;
  return nullptr;
}

bool is_ample() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= kAmple;
}

}  // namespace

std::size_t begin(std::byte** base, std::size_t most) noexcept {
  if (is_ample() && (*base = map(nullptr, most, 0)) != nullptr) return most;
  const std::size_t piece = std::min(kFirstPiece, most);
  for (int attempt = 0; attempt < kMostTries; ++attempt) {
    void* const place = reinterpret_cast<void*>(next_place.fetch_add(most));
    if ((*base = map(place, piece, MAP_FIXED_NOREPLACE)) != nullptr) return piece;
    if (errno != EEXIST) break;
  }
  *base = map(nullptr, piece, 0);
  return *base != nullptr ? piece : 0;
}

std::size_t grow(std::byte* base, std::size_t usable, std::size_t most) noexcept {
  // Grows by half, which keeps the number of pieces and the unused space small.
  const std::size_t wanted = std::clamp(usable / 2 / kFirstPiece * kFirstPiece, kFirstPiece, kLargestPiece);
  for (std::size_t piece = std::min(wanted, most - usable); piece != 0; piece = piece > kFirstPiece ? kFirstPiece : 0) {
    if (map(base + usable, piece, MAP_FIXED_NOREPLACE) != nullptr) return usable + piece;
  }
  return usable;
}

}  // namespace hr::growing_range
