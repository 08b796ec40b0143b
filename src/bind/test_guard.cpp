#include "bind/test_guard.hpp"

#include "p2p/progress_thread.hpp"

namespace hr::bind {

void TestGuard::begin() noexcept {
  watched_ = p2p::progress_thread::is_watching();
  entered_ = false;
  if (!watched_) enter_now();
}

void TestGuard::enter_now() noexcept {
  LibraryLock::acquire();
  entered_ = true;
}

void TestGuard::test_beside_thread() {
  if (p2p::progress_thread::take_round()) return;
  if (p2p::progress_thread::starved()) {
    enter();
  } else if (!entered_) {
    entered_ = LibraryLock::acquire_soon();
  }
  if (entered_) p2p::deliver_beside_thread();
}

}  // namespace hr::bind
