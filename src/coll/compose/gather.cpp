// Gather over hosts: to one process of each host, and from these, a message a host, to the root, which is the one of
// its host.
#include "coll/compose/all_blocks.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const Levels levels(call, call.root);
  Step here(call, &levels.here(), Operation::kGather);
  Step across(call, levels.across(), Operation::kGatherv);
  AllBlocks all(levels.hosts(), call.recv, levels.speaks() ? call.bytes : 0);
  Outcome outcome;
  here.call.root = levels.speaker();
  across.call.root = levels.root_host();
  here.call.send = call.send;
  if (call.in_place) {
    View own;
    outcome.add(call.recv.block(call.rank(), &own));
    here.call.send = one_block(own);
  }
  if (levels.speaks()) here.call.recv = byte_blocks(all.here(), call.bytes);
  if (call.is_root()) {
    // Where its own block is in its place already, nothing is to be copied.
    if (call.in_place && all.whole().address == call.recv.all().data()) {
      here.call.in_place = true;
      here.call.send = {};
    }
    across.call.in_place = true;
    across.call.recv = all.by_host();
  } else if (levels.speaks()) {
    across.call.send = one_block(all.here());
  }
  Task steps = run_in_order({&here, &across});
  const Status moved = co_await steps;
  outcome.add(moved);
  if (call.is_root()) outcome.add(all.spread());
  co_return outcome.result();
}

}  // namespace

const Algorithm gather_hosts = {
    .name = "hosts", .operations = serves(Operation::kGather), .probe = &over_hosts, .run = &run, .composes = true};

}  // namespace hr::coll
