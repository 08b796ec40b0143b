// Scatter and scatterv over hosts: from the root to one process of each host, the speaker, with one message per host,
// and from the speakers within their hosts. For scatterv, a speaker first gathers the lengths of its host's blocks.
#include "coll/compose/all_blocks.hpp"
#include "coll/compose/lengths.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

Task run(const Call& call) {
  const bool equal = call.operation == Operation::kScatter;
  const Levels levels(call, call.root);
  LengthsOfHost told(call, levels, !equal && levels.hosts().own() != levels.root_host());
  Step across(call, levels.across(), Operation::kScatterv);
  Step here(call, &levels.here(), call.operation);
  across.call.bytes = 0;
  StepsOutcome outcome;
  Task telling = told.ask(call.recv.none() ? 0 : call.recv.all().packed);
  const Status was_told = co_await telling;
  if (!outcome.add_step(was_told)) co_return outcome.without({&across, &here});
  Task leave = defer_device_data(call);
  const Status left = co_await leave;
  outcome.add(left);

  AllBlocks all(levels.hosts(), call.send, lengths_of(call, call.send, equal, levels, told));
  across.call.root = levels.root_host();
  here.call.root = levels.speaker();
  if (call.is_root()) {
    outcome.add(all.pack());
    across.call.in_place = true;
    across.call.send = all.by_host();
  } else if (levels.speaks()) {
    across.call.recv = one_block(all.here());
  }
  if (levels.speaks()) here.call.send = equal ? byte_blocks(all.here(), call.bytes) : all.host_blocks();
  here.call.in_place = call.in_place;
  here.call.recv = call.recv;
  Task steps = run_in_order({&across, &here});
  const Status moved = co_await steps;
  outcome.add(moved);
  co_return outcome.result();
}

}  // namespace

const Algorithm scatter_hosts = {.name = "hosts",
                                 .operations = serves(Operation::kScatter, Operation::kScatterv),
                                 .probe = &over_hosts,
                                 .run = &run,
                                 .composes = true};

}  // namespace hr::coll
