#include "bind/asking.hpp"

#include <atomic>

#include "p2p/progress_thread.hpp"

namespace hr::bind {
namespace {

// So many calls in a row do without the lock before one waits for it.
constexpr unsigned kMostRefusals = 1000;
std::atomic<unsigned> refusals{0};

}  // namespace

void Asking::begin() noexcept {
  watched_ = p2p::progress_thread::is_watching();
  entered_ = false;
  if (!watched_) enter_now();
}

void Asking::enter_now() noexcept {
  LibraryLock::acquire();
  entered_ = true;
  refusals.store(0, std::memory_order_relaxed);
}

bool Asking::enter_soon() noexcept {
  if (entered_) return true;
  const unsigned refused = refusals.load(std::memory_order_relaxed);
  if (refused >= kMostRefusals) {
    enter_now();
  } else if (LibraryLock::acquire_soon()) {
    entered_ = true;
    refusals.store(0, std::memory_order_relaxed);
  } else {
    refusals.store(refused + 1, std::memory_order_relaxed);
  }
  return entered_;
}

void Asking::look_beside_thread() {
  if (!p2p::progress_thread::has_looked() && enter_soon()) p2p::poll_beside_thread();
}

}  // namespace hr::bind
