#include "late_stores.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <new>
#include <utility>

namespace fake_cuda {
namespace {

constexpr std::size_t kPage = 4096;

struct Range {
  Address begin, end;
};

// Returns the memory that is mapped without a gap around an address: chunks of a range may be used as one.
Range mapped_around(const Allocation& allocation, Address address) {
  if (allocation.kind != Kind::kVmm) return {allocation.address, allocation.address + allocation.bytes};
  Range run{0, 0};
  for (const auto& [start, mapping] : allocation.mappings) {
    if (start != run.end) run.begin = start;
    run.end = start + mapping.bytes;
    if (address >= run.begin && address < run.end && allocation.mappings.count(run.end) == 0) return run;
  }
  return {address, address};
}

}  // namespace

bool& late_stores() {
  static bool late = false;
  return late;
}

// Copies that are kept for the next kernels: fresh memory costs a page fault for each page.
class LateStores::Kept {
 public:
  Memory take(std::size_t bytes) {
    {
      const std::scoped_lock lock(mutex_);
      const auto found = std::ranges::find(free_, bytes, [](const auto& each) { return each.get_deleter().bytes; });
      if (found != free_.end()) {
        Memory memory = std::move(*found);
        free_.erase(found);
        return memory;
      }
    }
    auto* const memory = static_cast<unsigned char*>(std::aligned_alloc(kPage, bytes));
    if (memory == nullptr) throw std::bad_alloc();
    return {memory, Free{bytes}};
  }
  void give_back(Memory memory) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(std::move(memory));
    if (free_.size() > kMost) free_.pop_front();
  }

 private:
  static constexpr std::size_t kMost = 16;
  std::mutex mutex_;
  std::deque<Memory> free_;
};

LateStores::Kept& LateStores::kept() {
  static Kept copies;
  return copies;
}

void LateStores::Free::operator()(unsigned char* memory) const { std::free(memory); }

LateStores::Piece& LateStores::piece_at(const Allocation& allocation, Address* address) {
  const Range range = mapped_around(allocation, *address);
  *address = range.begin;
  Piece& piece = pieces_[range.begin];
  if (piece.now != nullptr) return piece;
  piece.bytes = range.end - range.begin;
  piece.real = static_cast<unsigned char*>(alias(range.begin));
  piece.before = kept().take(round_up(piece.bytes + 1, kPage));
  piece.now = kept().take(round_up(piece.bytes + 1, kPage));
  std::memcpy(piece.before.get(), piece.real, piece.bytes);
  std::memcpy(piece.now.get(), piece.before.get(), piece.bytes);
  return piece;
}

void* LateStores::at(const Allocation& allocation, Address address) {
  // The address behind the memory may be passed, too.
  Address begin = std::min(address, allocation.address + allocation.bytes - 1);
  return piece_at(allocation, &begin).now.get() + (address - begin);
}

void LateStores::finish() {
  for (auto& [begin, piece] : pieces_) {
    const unsigned char *before = piece.before.get(), *now = piece.now.get();
    constexpr std::size_t kWord = 8;
    for (std::size_t at = 0; at < piece.bytes; at += kWord) {
      const std::size_t end = std::min(at + kWord, piece.bytes);
      if (end - at == kWord && std::memcmp(before + at, now + at, kWord) == 0) continue;
      for (std::size_t i = at; i < end; ++i) {
        if (before[i] != now[i]) piece.real[i] = now[i];
      }
    }
    kept().give_back(std::move(piece.before));
    kept().give_back(std::move(piece.now));
  }
  pieces_.clear();
}

}  // namespace fake_cuda
