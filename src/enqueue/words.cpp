#include "enqueue/words.hpp"

#include <algorithm>

namespace hr::enqueue {
namespace {

using mem::device::Context;

constexpr std::uint32_t kHighest = ~std::uint32_t{0};

// The words of an operation share a cache line.
struct alignas(64) Line {
  std::uint32_t start;
  std::uint32_t begun;
  std::uint32_t done;
};

// Returns the number to which the words have counted. Words from the driver may have any value at first, and count on
// from there.
std::uint32_t count_of(const Words& words) { return std::max(words.begun.load(), words.done.load()); }

}  // namespace

WordPool::~WordPool() {
  if (allocated_.empty() || !Context::alive(context_, id_)) return;
  const mem::device::Driver& driver = mem::device::driver();
  if (driver.context_push(context_) != mem::device::kSuccess) return;
  for (const mem::device::DeviceAddress each : allocated_) (void)driver.memory_free(each);
  mem::device::ContextHandle popped = nullptr;
  (void)driver.context_pop(&popped);
}

Status WordPool::open(Context& context) {
  context_ = context.handle();
  id_ = context.id();
  from_driver_ = mem::device::driver().word_allocate != nullptr;
  HR_TRY(grow(context));
  return from_driver_ ? allocate(context, &free_.back()) : kOk;
}

template <class Work>
Status WordPool::in_context(const Work& work) {
  Context* const context = Context::find(context_, id_);
  if (context == nullptr) return fail(Errc::kOther, "the context of the stream has been destroyed");
  const mem::device::Current current(*context);
  HR_TRY(current.status());
  return work(*context);
}

Status WordPool::grow(Context& context) {
  auto made = std::make_unique<Chunk>();
  made->memory = p2p::take_pages(p2p::kPageBytes);
  if (made->memory == nullptr) return fail(Errc::kNoMem, "no memory for more enqueued operations");
  HR_TRY(made->pinned.pin(context, {made->memory.get(), p2p::kPageBytes}));
  auto* const lines = reinterpret_cast<Line*>(made->memory.get());
  constexpr std::size_t kCount = p2p::kPageBytes / sizeof(Line);
  for (std::size_t i = kCount; i-- > 0;) {
    const mem::device::DeviceAddress at = made->pinned.address() + i * sizeof(Line);
    Words words{{&lines[i].start, at + offsetof(Line, start)}, {}, {}};
    if (!from_driver_) {
      words.begun = {&lines[i].begun, at + offsetof(Line, begun)};
      words.done = {&lines[i].done, at + offsetof(Line, done)};
    }
    free_.push_back(words);
  }
  chunks_.push_back(std::move(made));
  return kOk;
}

Status WordPool::allocate(Context& context, Word* word) {
  const mem::device::Driver& driver = mem::device::driver();
  const mem::device::Result result = driver.word_allocate(&word->device);
  if (result != mem::device::kSuccess) {
    return fail(result == mem::device::kOutOfMemory ? Errc::kNoMem : Errc::kOther,
                "operations cannot be enqueued: streams of %s device %d have no words for which they can wait (%s: "
                "%s); call MPI's other functions after the stream's work",
                driver.names.maker, context.device(), driver.symbol_of("word_allocate"),
                mem::device::error_text(result).name);
  }
  allocated_.push_back(word->device);
  word->host = reinterpret_cast<std::uint32_t*>(word->device);
  return kOk;
}

Status WordPool::allocate(Context& context, Words* words) {
  HR_TRY(allocate(context, &words->begun));
  HR_TRY(allocate(context, &words->done));
  if (count_of(*words) == kHighest) {
    words->begun.store(0);
    words->done.store(0);
  }
  // Not every use writes `start`, so it may still contain a number that the new words reach again.
  words->start.store(count_of(*words));
  return kOk;
}

Status WordPool::take(Place* place) {
  if (free_.empty()) HR_TRY(in_context([&](Context& context) { return grow(context); }));
  if (from_driver_) {
    Words& next = free_.back();
    // A stream may still wait for words that are replaced, so they are kept.
    if (next.done.host == nullptr || count_of(next) == kHighest)
      HR_TRY(in_context([&](Context& context) { return allocate(context, &next); }));
    *place = {next, count_of(next) + 1};
  } else {
    *place = {free_.back(), free_.back().done.load() + 1};
  }
  free_.pop_back();
  return kOk;
}

}  // namespace hr::enqueue
