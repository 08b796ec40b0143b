// Words: memory of the host through which a stream of the program and the library report their progress to each other.
//
// A stream writes `start` when it reaches an operation, and waits for `begun` or `done`, which the library writes.
// Each use of the words has a number, one more than the last, and every word counts up to it. So words may be used
// again as soon as their operation is done, although the stream may not have read `done` yet. In a graph the number
// stays the same, and both sides reset the words.
//
// Where streams wait only for words from the driver (Driver::word_allocate), `begun` and `done` are such words, and
// every other word is in pinned memory. Streams then compare numbers without regard to wrap-around, so words that have
// counted up to the highest number are replaced.
//
// Owner: a WordPool, which lives until finalize(), because a stream may still wait for the words, and a graph of the
// program may still write to them. Memory order: the device's write of `start` is ordered after all earlier work of its
// stream; the library reads it with acquire and writes with release. Threads: library lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.hpp"
#include "mem/device/pinned.hpp"
#include "p2p/core/pages.hpp"

namespace hr::enqueue {

// A word, and its address for devices.
struct Word {
  std::uint32_t* host = nullptr;
  mem::device::DeviceAddress device = 0;

  [[nodiscard]] std::uint32_t load() const noexcept {
    return std::atomic_ref<std::uint32_t>(*host).load(std::memory_order_acquire);
  }
  void store(std::uint32_t value) const noexcept {
    std::atomic_ref<std::uint32_t>(*host).store(value, std::memory_order_release);
  }
};

struct Words {
  Word start;
  Word begun;
  Word done;
};

// One use of words.
struct Place {
  Words words;
  std::uint32_t number = 0;

  [[nodiscard]] mem::device::DeviceAddress start() const noexcept { return words.start.device; }
  [[nodiscard]] mem::device::DeviceAddress begun() const noexcept { return words.begun.device; }
  [[nodiscard]] mem::device::DeviceAddress done() const noexcept { return words.done.device; }

  // True once the stream has reached the operation.
  [[nodiscard]] bool reached() const noexcept { return words.start.load() == number; }
  void set_begun() const noexcept { words.begun.store(number); }
  void set_done() const noexcept { words.done.store(number); }
  // Prepares for a graph, which will write `start` again.
  void expect_again() const noexcept { words.start.store(number - 1); }
};

// The words of all operations in the streams of one context.
class WordPool {
 public:
  WordPool() = default;
  ~WordPool();
  WordPool(const WordPool&) = delete;
  WordPool& operator=(const WordPool&) = delete;

  // Allocates the first words, so that no memory has to be pinned while a stream waits. The context must be current.
  // Errors: MPI_ERR_OTHER (the device has no words for which streams can wait); those of take().
  Status open(mem::device::Context& context);
  [[nodiscard]] bool is_of(const mem::device::Context& context) const noexcept {
    return context.handle() == context_ && context.id() == id_;
  }
  // False if all words are in use.
  [[nodiscard]] bool any_free() const noexcept { return !free_.empty(); }
  // Takes words for a new use; allocates more if none are free. Errors: MPI_ERR_NO_MEM; the driver's.
  Status take(Place* place);
  void give_back(const Place& place) { free_.push_back(place.words); }

 private:
  struct Chunk {
    p2p::Pages memory;
    mem::device::PinnedRange pinned;  // destroyed before the memory
  };
  // Calls work(context) with the context current.
  template <class Work>
  Status in_context(const Work& work);
  Status grow(mem::device::Context& context);
  // Allocates words for which streams can wait.
  Status allocate(mem::device::Context& context, Words* words);
  Status allocate(mem::device::Context& context, Word* word);

  mem::device::ContextHandle context_ = nullptr;
  std::uint64_t id_ = 0;
  bool from_driver_ = false;  // streams wait only for words from the driver
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<mem::device::DeviceAddress> allocated_;  // words from the driver, including those replaced
  std::vector<Words> free_;
};

}  // namespace hr::enqueue
