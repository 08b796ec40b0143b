// Broadcast through the root's flag line. The root waits for other processes only if it is several operations ahead.
#include "coll/registry.hpp"
#include "coll/shared/flag_lines.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept { return has_flag_lines(query) && query.bytes <= shared::kRoomBytes; }

Task run(const Call& call) {
  const View& data = call.recv.all();
  if (call.is_root()) {
    shared::FlagLinesFree free{call};
    HR_CO_UNTIL(call, free);
    HR_CO_TRY(shared::publish_packed(call, data));
    co_return kOk;
  }
  shared::FlagArrived arrived{call, call.root};
  HR_CO_UNTIL(call, arrived);
  HR_CO_TRY(shared::take_packed(call, call.root, data));
  co_return kOk;
}

}  // namespace

const Algorithm bcast_cells = {"cells", serves(Operation::kBcast), &probe, &run, Sharing::kFlagLines};

}  // namespace hr::coll
