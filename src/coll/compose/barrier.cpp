// Barrier over hosts: everybody of a host has come, all hosts have, and everybody of the host hears of it.
#include "coll/compose/step.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const Levels levels(call);
  Step come(call, &levels.here(), Operation::kBarrier);
  Step across(call, levels.across(), Operation::kBarrier);
  Step leave(call, &levels.here(), Operation::kBarrier);
  Outcome outcome;
  Task first = come.run();
  const Status all_here = co_await first;
  outcome.add(all_here);
  Task second = across.run();
  const Status all_hosts = co_await second;
  outcome.add(all_hosts);
  Task third = leave.run();
  const Status all_left = co_await third;
  outcome.add(all_left);
  co_return outcome.result();
}

}  // namespace

const Algorithm barrier_hosts = {
    .name = "hosts", .operations = serves(Operation::kBarrier), .probe = &over_hosts, .run = &run, .composes = true};

}  // namespace hr::coll
