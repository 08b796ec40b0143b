#include "base/driver_epoch.hpp"

#include "base/clock.hpp"

namespace hr {

void DriverEpoch::track(std::uint64_t gap) noexcept {
  if (!tracking_ || gap < gap_) gap_ = gap;
  if (tracking_ || !single_threaded_) return;
  tracking_ = true;
  depth_ = 1;
}

void DriverEpoch::enter_slow() noexcept {
  // If this core's counter is behind the counter of the core that set left_, the difference wraps and counts as large.
  if (depth_++ != 0 || ticks() - left_ > gap_) ++number_;
}

void DriverEpoch::leave_slow() noexcept {
  if (--depth_ > 0) return;
  depth_ = 0;
  left_ = ticks();
}

}  // namespace hr
