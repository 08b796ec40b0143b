// Reduce over hosts: reduces to one process of each host (on the root's host, to the root), and from these processes to
// the root.
#include "coll/compose/step.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const Levels levels(call, call.root);
  Step here(call, &levels.here(), Operation::kReduce);
  Step across(call, levels.across(), Operation::kReduce);
  // A speaker other than the root needs memory for the result of its host.
  const View& data = contribution(call);
  TypedScratch room(levels.speaks() && !call.is_root() ? data.count : 0, *data.type);
  here.call.root = levels.speaker();
  here.call.in_place = call.in_place;
  here.call.send = call.send;
  across.call.root = levels.root_host();
  if (call.is_root()) {
    here.call.recv = across.call.recv = call.recv;
    across.call.in_place = true;
  } else if (levels.speaks()) {
    here.call.recv = across.call.send = one_block(room.view());
  }
  Task steps = run_in_order({&here, &across});
  const Status status = co_await steps;
  co_return status;
}

}  // namespace

const Algorithm reduce_hosts = {.name = "hosts",
                                .operations = serves(Operation::kReduce),
                                .probe = &over_hosts_in_order,
                                .run = &run,
                                .composes = true};

}  // namespace hr::coll
