#include "enqueue/words.hpp"

#include <span>

namespace hr::enqueue {

Status WordPool::open(mem::device::Context& context) {
  context_ = context.handle();
  id_ = context.id();
  return grow(context);
}

Status WordPool::grow(mem::device::Context& context) {
  auto made = std::make_unique<Chunk>();
  made->memory = p2p::take_pages(p2p::kPageBytes);
  if (made->memory == nullptr) return fail(Errc::kNoMem, "no memory for more enqueued operations");
  HR_TRY(made->pinned.pin(context, {made->memory.get(), p2p::kPageBytes}));
  auto* const words = reinterpret_cast<Words*>(made->memory.get());
  constexpr std::size_t kCount = p2p::kPageBytes / sizeof(Words);
  for (std::size_t i = kCount; i-- > 0;) free_.push_back({words + i, made->pinned.address() + i * sizeof(Words)});
  chunks_.push_back(std::move(made));
  return kOk;
}

Status WordPool::take(Place* place) {
  if (free_.empty()) {
    mem::device::Context* const context = mem::device::Context::find(context_, id_);
    if (context == nullptr) return fail(Errc::kOther, "the context of the stream has been destroyed");
    const mem::device::Current current(*context);
    HR_TRY(current.status());
    HR_TRY(grow(*context));
  }
  const Free taken = free_.back();
  free_.pop_back();
  *place = {taken.words, taken.device, std::atomic_ref<std::uint32_t>(taken.words->done).load() + 1};
  return kOk;
}

}  // namespace hr::enqueue
