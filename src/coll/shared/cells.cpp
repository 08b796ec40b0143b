#include "coll/shared/cells.hpp"

#include "base/cache_lines.hpp"

namespace hr::coll::shared {

void publish_room(const Call& call, std::size_t bytes) noexcept {
  const std::uint64_t next = call.ticket + 1;
  hand_over(own_cell(call).data(bytes, call.ticket), bytes);
  publish(call);
  take_back(call.area->cell(call.rank(), next).data(bytes, next), bytes);
}

}  // namespace hr::coll::shared
