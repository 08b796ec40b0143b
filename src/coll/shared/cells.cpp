#include "coll/shared/cells.hpp"

#include "base/cache_hints.hpp"

namespace hr::coll::shared {

void publish_and_demote(const Call& call, std::size_t bytes) noexcept {
  demote(own_cell(call).data(bytes), bytes);
  publish(call);
  prefetch_for_write(call.area->cell(call.rank(), call.ticket + 1, swaps(call)).data(bytes), bytes);
}

}  // namespace hr::coll::shared
