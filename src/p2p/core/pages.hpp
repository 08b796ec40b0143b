// Pages: whole pages of host memory, zeroed and present, that may be pinned.
//
// Owner: the code that took them; a PinnedRange of them is destroyed first. Threads: any.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace hr::p2p {

struct FreePages {
  void operator()(std::byte* memory) const noexcept { std::free(memory); }
};
using Pages = std::unique_ptr<std::byte[], FreePages>;

inline constexpr std::size_t kPageBytes = 65536;  // a multiple of any machine's page size
constexpr std::size_t whole_pages(std::size_t bytes) noexcept {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

// Allocates pages; null: no memory. `bytes`: a multiple of kPageBytes.
inline Pages take_pages(std::size_t bytes) {
  Pages taken(static_cast<std::byte*>(std::aligned_alloc(kPageBytes, bytes)));
  if (taken != nullptr) std::memset(taken.get(), 0, bytes);
  return taken;
}

}  // namespace hr::p2p
