// Allreduce over hosts: reduces to one process of each host, reduces among these processes, and broadcasts the result
// within the hosts.
#include "coll/compose/step.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const Levels levels(call);
  Step up(call, &levels.here(), Operation::kReduce);
  Step across(call, levels.across(), Operation::kAllreduce);
  Step down(call, &levels.here(), Operation::kBcast);
  if (levels.speaks()) {
    up.call.in_place = call.in_place;
    up.call.send = call.send;
    up.call.recv = call.recv;
  } else {
    up.call.send = call.in_place ? call.recv : call.send;
  }
  across.call.in_place = true;
  across.call.recv = down.call.recv = call.recv;
  down.call.op = nullptr;
  Task steps = run_in_order({&up, &across, &down});
  const Status status = co_await steps;
  co_return status;
}

}  // namespace

const Algorithm allreduce_hosts = {.name = "hosts",
                                   .operations = serves(Operation::kAllreduce),
                                   .probe = &over_hosts_in_order,
                                   .run = &run,
                                   .composes = true};

}  // namespace hr::coll
