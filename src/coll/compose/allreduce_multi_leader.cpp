// Allreduce over hosts with equally many processes. All processes communicate between hosts: a reduce-scatter within
// the host leaves each process with a part of the vector, an allreduce of each part runs among the processes that hold
// the part, and an allgather within the host follows. For long vectors.
#include <vector>

#include "coll/compose/step.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept {
  return over_hosts_in_order(query) && query.ranks == query.hosts * query.ranks_per_host;
}

Task run(const Call& call) {
  const Hosts& hosts = *call.members->hosts();
  const Members& here = hosts.here();
  const View& vector = contribution(call);
  const View& result = call.recv.all();
  const Cut cut{vector.count, here.size()};
  std::vector<Count> counts;
  std::vector<Count> begins;
  for (int i = 0; i < here.size(); ++i) {
    begins.push_back(cut.begin(i));
    counts.push_back(cut.begin(i + 1) - cut.begin(i));
  }
  const Count own = counts[static_cast<std::size_t>(here.own())];
  Step parting(call, &here, Operation::kReduceScatter);
  Step across(call, own > 0 ? &hosts.alike() : nullptr, Operation::kAllreduce);
  Step joining(call, &here, Operation::kAllgatherv);
  TypedScratch part(own, *vector.type);
  parting.call.send = Blocks::consecutive(vector, counts.data());
  parting.call.recv = one_block(part.view());
  parting.call.bytes = vector.packed;
  across.call.in_place = true;
  across.call.recv = one_block(part.view());
  across.call.bytes = part.view().packed;
  joining.call.op = nullptr;
  joining.call.send = one_block(part.view());
  joining.call.recv = Blocks::counted_in(result, counts.data(), begins.data());
  joining.call.bytes = vector.packed / static_cast<std::size_t>(here.size());
  Task steps = run_in_order({&parting, &across, &joining});
  const Status status = co_await steps;
  co_return status;
}

}  // namespace

const Algorithm allreduce_multi_leader = {.name = "hosts_multi_leader",
                                          .operations = serves(Operation::kAllreduce),
                                          .probe = &probe,
                                          .run = &run,
                                          .composes = true};

}  // namespace hr::coll
