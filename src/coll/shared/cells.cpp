#include "coll/shared/cells.hpp"

#include "base/cache_lines.hpp"

namespace hr::coll::shared {

void publish_room(const Call& call, std::size_t bytes) noexcept {
  hand_over(own_cell(call).data(bytes), bytes);
  publish(call);
  take_back(call.area->cell(call.rank(), call.ticket + 1, swaps(call)).data(bytes), bytes);
}

}  // namespace hr::coll::shared
