// Gather and gatherv over hosts: gathers at one process of each host, the speaker, and from the speakers at the root,
// with one message per host. The root is the speaker of its host. For gatherv, a speaker first gathers the lengths of
// its host's blocks.
#include "coll/compose/all_blocks.hpp"
#include "coll/compose/lengths.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const bool equal = call.operation == Operation::kGather;
  const Levels levels(call, call.root);
  LengthsOfHost told(call, levels, !equal && levels.hosts().own() != levels.root_host());
  Step here(call, &levels.here(), call.operation);
  Step across(call, levels.across(), Operation::kGatherv);
  across.call.bytes = 0;
  StepsOutcome outcome;
  View own;
  outcome.add(call.in_place ? call.recv.block(call.rank(), &own) : call.send.block(0, &own));
  Task telling = told.ask(own.packed);
  const Status was_told = co_await telling;
  if (!outcome.add_step(was_told)) co_return outcome.without({&here, &across});

  AllBlocks all(levels.hosts(), call.recv, lengths_of(call, call.recv, equal, levels, told));
  here.call.root = levels.speaker();
  across.call.root = levels.root_host();
  here.call.send = one_block(own);
  if (levels.speaks()) here.call.recv = equal ? byte_blocks(all.here(), call.bytes) : all.host_blocks();
  if (call.is_root()) {
    // If the root's own block is already in place, it need not be copied.
    if (call.in_place && own.contiguous && own.data() == all.here(levels.speaker()).data()) {
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
  if (call.is_root()) outcome.add(all.unpack());
  co_return outcome.result();
}

}  // namespace

const Algorithm gather_hosts = {.name = "hosts",
                                .operations = serves(Operation::kGather, Operation::kGatherv),
                                .probe = &over_hosts,
                                .run = &run,
                                .composes = true};

}  // namespace hr::coll
