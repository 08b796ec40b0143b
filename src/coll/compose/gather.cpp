// Gather and gatherv over hosts: to one process of each host, and from these, a message for each host, to the root,
// which is that process of its host. For gatherv, that process first asks those of its host how much they have.
#include "coll/compose/all_blocks.hpp"
#include "coll/compose/lengths.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

// Returns the lengths of all blocks on the root, which knows them; of the host's blocks on the other speakers.
std::vector<std::size_t> lengths_of(const Call& call, const Levels& levels, LengthsOfHost& told) {
  if (!levels.speaks()) return {};
  if (call.operation == Operation::kGather) return AllBlocks::equal(levels.hosts(), call.recv, call.bytes);
  return call.is_root() ? AllBlocks::of_buffer(levels.hosts(), call.recv) : told.take();
}

Task run(const Call& call) {
  const bool equal = call.operation == Operation::kGather;
  const Levels levels(call, call.root);
  LengthsOfHost told(call, levels, !equal && levels.hosts().own() != levels.root_host());
  Step here(call, &levels.here(), call.operation);
  Step across(call, levels.across(), Operation::kGatherv);
  across.call.bytes = 0;
  Outcome outcome;
  View own;
  outcome.add(call.in_place ? call.recv.block(call.rank(), &own) : call.send.block(0, &own));
  Task telling = told.ask(own.packed);
  const Status was_told = co_await telling;
  outcome.add(was_told);

  AllBlocks all(levels.hosts(), call.recv, lengths_of(call, levels, told));
  here.call.root = levels.speaker();
  across.call.root = levels.root_host();
  here.call.send = one_block(own);
  if (levels.speaks()) here.call.recv = equal ? byte_blocks(all.here(), call.bytes) : all.host_blocks();
  if (call.is_root()) {
    // If its own block is in its place already, nothing is to be copied.
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
