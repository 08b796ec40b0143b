// Broadcast over hosts: from the root to one process of each host, and from each of these within its host.
#include "coll/compose/step.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const Levels levels(call, call.root);
  Step across(call, levels.across(), Operation::kBcast);
  Step here(call, &levels.here(), Operation::kBcast);
  across.call.recv = here.call.recv = call.recv;
  across.call.root = levels.root_host();
  here.call.root = levels.speaker();
  Task steps = run_in_order({&across, &here});
  const Status status = co_await steps;
  co_return status;
}

}  // namespace

const Algorithm bcast_hosts = {
    .name = "hosts", .operations = serves(Operation::kBcast), .probe = &over_hosts, .run = &run, .composes = true};

}  // namespace hr::coll
