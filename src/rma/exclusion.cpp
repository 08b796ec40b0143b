#include "rma/exclusion.hpp"

#include <sched.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/process_barrier.hpp"

namespace hr::rma {

namespace {

constexpr unsigned kSpins = 200;

template <class Done>
void await(Done&& done) noexcept {
  for (unsigned tries = 0; !done(); ++tries) {
    if (tries < kSpins) {
      spin_pause();
    } else {
      ::sched_yield();
    }
  }
}

void take(const Exclusion& exclusion) noexcept {
  await([&] { return exclusion.target->accumulate.exchange(1, std::memory_order_acquire) == 0; });
}

void give_back(const Exclusion& exclusion) noexcept {
  exclusion.target->accumulate.store(0, std::memory_order_release);
}

// Total length of vectors above which a lock is faster: the switch costs a process barrier of some microseconds.
constexpr std::uint32_t kVectors = 16384;

}  // namespace

void ShortUpdate::lock() noexcept {
  exclusion_.own->updating.store(0, std::memory_order_release);
  take(exclusion_);
  locked_ = true;
}

void ShortUpdate::unlock() noexcept { give_back(exclusion_); }

LockedUpdate::LockedUpdate(const Exclusion& exclusion) noexcept
    : exclusion_(exclusion), held_(exclusion.alone() ? exclusion.threads : nullptr) {
  if (!exclusion.alone()) take(exclusion);
}

LockedUpdate::~LockedUpdate() {
  if (!exclusion_.alone()) give_back(exclusion_);
}

VectorUpdate::VectorUpdate(const Exclusion& exclusion, std::size_t bytes) noexcept
    : exclusion_(exclusion), held_(exclusion.threads) {
  if (exclusion.alone()) {
    alone_ = true;
    return;
  }
  if (takes_lock(bytes)) {
    take(exclusion);
    alone_ = set_by_lock();
    if (!alone_) give_back(exclusion);
  }
  if (!alone_) held_.release();
}

bool VectorUpdate::takes_lock(std::size_t bytes) noexcept {
  if (!exclusion_.by_barrier) return false;
  Control& target = *exclusion_.target;
  if (target.by_lock.load(std::memory_order_acquire) != 0) return true;
  if (bytes == 0) return false;
  const auto added = static_cast<std::uint32_t>(std::min<std::size_t>(bytes, kVectors));
  return target.vector_bytes.fetch_add(added, std::memory_order_relaxed) + added >= kVectors;
}

VectorUpdate::~VectorUpdate() {
  if (alone_ && !exclusion_.alone()) give_back(exclusion_);
}

// Must be called with the lock held; returns only once all pending short updates of the target have ended, so that a
// process that later sees by_lock set and takes the lock need not wait for them.
bool VectorUpdate::set_by_lock() noexcept {
  Control& target = *exclusion_.target;
  if (target.by_lock.load(std::memory_order_relaxed) != 0) return true;
  target.by_lock.store(1, std::memory_order_seq_cst);
  if (!process_barrier::barrier()) {
    target.by_lock.store(0, std::memory_order_release);
    return false;
  }
  const std::uint32_t number = exclusion_.number();
  for (const Control& each : exclusion_.all) {
    await([&] { return each.updating.load(std::memory_order_acquire) != number; });
  }
  return true;
}

}  // namespace hr::rma
