// Words: pinned host memory through which a stream of the program and the library report their progress to each other.
//
// A stream writes `start` when it reaches an operation, and waits for `begun` or `done`, which the library writes.
// Each use of the words has a number, one more than the last, and every word counts up to it. So words may be used
// again as soon as their operation is done, although the stream may not have read `done` yet. In a graph the number
// stays the same, and both sides reset the words.
//
// Owner: a WordPool, which lives until finalize(), as a graph of the program may still write to them. Memory order: the
// device's write of `start` is ordered after all earlier work of its stream; the library reads it with acquire and
// writes with release. Threads: library lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "mem/device/pinned.hpp"
#include "p2p/core/pages.hpp"

namespace hr::enqueue {

struct alignas(64) Words {
  std::uint32_t start;
  std::uint32_t begun;
  std::uint32_t done;
};

// One use of words.
struct Place {
  Words* words = nullptr;
  mem::device::DeviceAddress device = 0;  // device address of `words`
  std::uint32_t number = 0;

  [[nodiscard]] mem::device::DeviceAddress start() const noexcept { return device + offsetof(Words, start); }
  [[nodiscard]] mem::device::DeviceAddress begun() const noexcept { return device + offsetof(Words, begun); }
  [[nodiscard]] mem::device::DeviceAddress done() const noexcept { return device + offsetof(Words, done); }

  // True once the stream has reached the operation.
  [[nodiscard]] bool reached() const noexcept {
    return std::atomic_ref<std::uint32_t>(words->start).load(std::memory_order_acquire) == number;
  }
  void set_begun() const noexcept { store(words->begun, number); }
  void set_done() const noexcept { store(words->done, number); }
  // Prepares for a graph, which will write `start` again.
  void expect_again() const noexcept { store(words->start, number - 1); }

 private:
  static void store(std::uint32_t& word, std::uint32_t value) noexcept {
    std::atomic_ref<std::uint32_t>(word).store(value, std::memory_order_release);
  }
};

// The words of all operations in the streams of one context.
class WordPool {
 public:
  // Allocates the first words, so that no memory has to be pinned while a stream waits. The context must be current.
  Status open(mem::device::Context& context);
  [[nodiscard]] bool is_of(const mem::device::Context& context) const noexcept {
    return context.handle() == context_ && context.id() == id_;
  }
  // False if all words are in use.
  [[nodiscard]] bool any_free() const noexcept { return !free_.empty(); }
  // Takes words for a new use; allocates more if none are free. Errors: MPI_ERR_NO_MEM; the driver's.
  Status take(Place* place);
  void give_back(const Place& place) { free_.push_back({place.words, place.device}); }

 private:
  struct Chunk {
    p2p::Pages memory;
    mem::device::PinnedRange pinned;  // destroyed before the memory
  };
  struct Free {
    Words* words;
    mem::device::DeviceAddress device;
  };
  Status grow(mem::device::Context& context);

  mem::device::ContextHandle context_ = nullptr;
  std::uint64_t id_ = 0;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Free> free_;
};

}  // namespace hr::enqueue
