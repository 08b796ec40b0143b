// Barrier over hosts: waits until all processes of the host have arrived, then until all hosts have, and releases the
// processes of the host.
#include "coll/compose/step.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const Levels levels(call);
  Step come(call, &levels.here(), Operation::kBarrier);
  Step across(call, levels.across(), Operation::kBarrier);
  Step leave(call, &levels.here(), Operation::kBarrier);
  Task steps = run_in_order({&come, &across, &leave});
  const Status status = co_await steps;
  co_return status;
}

}  // namespace

const Algorithm barrier_hosts = {
    .name = "hosts", .operations = serves(Operation::kBarrier), .probe = &over_hosts, .run = &run, .composes = true};

}  // namespace hr::coll
