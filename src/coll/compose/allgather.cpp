// Allgather and allgatherv over hosts: gathers the blocks at one process of each host, exchanges them among these
// processes, and broadcasts all blocks within the hosts.
#include "coll/compose/all_blocks.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

std::vector<std::size_t> lengths_of(const Call& call, const Hosts& hosts) {
  return call.operation == Operation::kAllgather ? AllBlocks::equal(hosts, call.recv, call.bytes)
                                                 : AllBlocks::of_buffer(hosts, call.recv);
}

Task run(const Call& call) {
  const bool equal = call.operation == Operation::kAllgather;
  const Levels levels(call);
  Step up(call, &levels.here(), equal ? Operation::kGather : Operation::kGatherv);
  Step across(call, levels.across(), Operation::kAllgatherv);
  Step down(call, &levels.here(), Operation::kBcast);
  AllBlocks all(levels.hosts(), call.recv, lengths_of(call, levels.hosts()));
  StepsOutcome outcome;
  View own;
  if (call.in_place) {
    outcome.add(call.recv.block(call.rank(), &own));
  } else {
    outcome.add(call.send.block(0, &own));
    const View place = all.here(levels.here().own());
    if (own.packed != place.packed) {
      outcome.add(fail(own.packed > place.packed ? Errc::kTruncate : Errc::kCount,
                       "send count and type are %zu bytes, receive count and type %zu a process", own.packed,
                       place.packed));
      own = place;  // the others expect this number of bytes
    }
  }
  up.call.send = one_block(own);
  if (levels.speaks()) {
    up.call.recv = equal ? byte_blocks(all.here(), call.bytes) : all.host_blocks();
    const View place = all.here(levels.speaker());
    if (own.contiguous && own.data() == place.data()) {
      up.call.in_place = true;
      up.call.send = {};
    }
  }
  across.call.in_place = true;
  across.call.recv = all.by_host();
  across.call.bytes = all.whole().packed / static_cast<std::size_t>(levels.hosts().count());
  down.call.recv = one_block(all.whole());
  down.call.bytes = all.whole().packed;
  Task steps = run_in_order({&up, &across, &down});
  const Status moved = co_await steps;
  outcome.add(moved);
  outcome.add(all.unpack());
  co_return outcome.result();
}

}  // namespace

const Algorithm allgather_hosts = {.name = "hosts",
                                   .operations = serves(Operation::kAllgather, Operation::kAllgatherv),
                                   .probe = &over_hosts,
                                   .run = &run,
                                   .composes = true};

}  // namespace hr::coll
