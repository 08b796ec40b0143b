#include "rma/exclusion.hpp"

#include <sched.h>

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

}  // namespace

void ShortUpdate::let_long_pass() noexcept {
  const Control& target = *exclusion_.target;
  do {
    exclusion_.own->updating.store(0, std::memory_order_release);
    await([&] { return target.long_update.load(std::memory_order_acquire) == 0; });
    announce();
  } while (target.long_update.load(std::memory_order_acquire) != 0);
}

LockedUpdate::LockedUpdate(const Exclusion& exclusion) noexcept : exclusion_(exclusion) {
  if (exclusion.alone()) return;
  await([&] { return exclusion_.target->accumulate.exchange(1, std::memory_order_acquire) == 0; });
}

LockedUpdate::~LockedUpdate() {
  if (!exclusion_.alone()) exclusion_.target->accumulate.store(0, std::memory_order_release);
}

LongUpdate::LongUpdate(const Exclusion& exclusion) noexcept : lock_(exclusion), exclusion_(exclusion) {
  if (exclusion.alone()) {
    alone_ = true;
    return;
  }
  if (!exclusion.by_barrier) return;
  exclusion.target->long_update.store(1, std::memory_order_seq_cst);
  if (!process_barrier::barrier()) {
    exclusion.target->long_update.store(0, std::memory_order_release);
    return;
  }
  const std::uint32_t number = exclusion.number();
  for (const Control& each : exclusion.all) {
    await([&] { return each.updating.load(std::memory_order_acquire) != number; });
  }
  alone_ = true;
}

LongUpdate::~LongUpdate() {
  if (alone_ && !exclusion_.alone()) exclusion_.target->long_update.store(0, std::memory_order_release);
}

}  // namespace hr::rma
