#include "base/turn.hpp"

#include "base/clock.hpp"

namespace hr {

void Turn::watch(std::uint64_t gap) noexcept {
  if (!watching_ || gap < gap_) gap_ = gap;
  if (watching_ || !alone_) return;
  watching_ = true;
  depth_ = 1;
}

void Turn::enter_watched() noexcept {
  // A counter that runs backwards from one core to another makes the gap a large one.
  if (depth_++ != 0 || ticks() - left_ > gap_) ++number_;
}

void Turn::leave_watched() noexcept {
  if (--depth_ > 0) return;
  depth_ = 0;
  left_ = ticks();
}

}  // namespace hr
