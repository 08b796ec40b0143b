#include "coll/shared/cells.hpp"

#include "base/cache_lines.hpp"

namespace hr::coll::shared {

void publish_room(const Call& call, std::size_t bytes) noexcept {
  const std::uint64_t next = call.ticket + 1;
  hand_over(data_in(own_cell(call), call, bytes), bytes);
  publish(call);
  const bool swapped = swaps(call);
  take_back(call.area->cell(call.rank(), next, swapped).data(bytes, next, !swapped), bytes);
}

}  // namespace hr::coll::shared
