// Scan and exscan over hosts whose ranks are consecutive. First scans or exscans within each host; the host's last
// process then has the sum of the host (in exscan, once it has added its own contribution). An exscan among these last
// processes computes the sum of all hosts before each host, and a broadcast distributes this sum within the host.
#include "coll/compose/step.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

bool probe(const Query& query) noexcept { return over_hosts(query) && query.hosts_in_order; }

Task run(const Call& call) {
  const bool inclusive = call.operation == Operation::kScan;
  const Levels levels(call, LastOfHost{});
  const bool follows = levels.hosts().own() > 0;  // there are hosts before this one
  const bool on_device = call.recv.all().where.is_device();
  TypedScratch on_host(on_device ? call.recv.all().count : 0, *call.recv.all().type);
  const View& result = on_device ? on_host.view() : call.recv.all();
  Step here(call, &levels.here(), call.operation);
  Step across(call, levels.across(), Operation::kExscan);
  Step down(call, follows ? &levels.here() : nullptr, Operation::kBcast);
  TypedScratch sum(levels.speaks() ? result.count : 0, *result.type);
  TypedScratch before(result.count, *result.type);
  StepsOutcome outcome;
  Task leave = defer_device_data(call);
  const Status left = co_await leave;
  outcome.add(left);
  if (on_device && call.in_place) outcome.add(layout::copy(call.recv.all(), result));
  // The sum of the host includes this process's contribution, which exscan excludes and an in-place operation
  // overwrites.
  if (levels.speaks() && !inclusive) outcome.add(layout::copy(contribution(call), sum.view()));
  here.call.in_place = call.in_place;
  here.call.send = call.send;
  here.call.recv = one_block(result);
  Task first = here.run();
  const Status scanned = co_await first;
  if (!outcome.add_step(scanned)) co_return outcome.without({&across, &down});
  if (levels.speaks()) {
    if (inclusive) {
      outcome.add(layout::copy(result, sum.view()));
    } else if (levels.here().own() > 0) {
      outcome.add(combine(call, result, sum.view()));
    }
    across.call.send = one_block(sum.view());
    across.call.recv = one_block(before.view());
  }
  down.call.op = nullptr;
  down.call.root = levels.speaker();
  down.call.recv = one_block(before.view());
  Task rest = run_in_order({&across, &down});
  const Status added = co_await rest;
  outcome.add(added);
  if (follows) {
    if (inclusive || levels.here().own() > 0) {
      outcome.add(combine(call, before.view(), result));
    } else {
      outcome.add(layout::copy(before.view(), result));
    }
  }
  if (on_device && (inclusive || call.rank() > 0)) outcome.add(layout::copy(result, call.recv.all()));
  co_return outcome.result();
}

}  // namespace

const Algorithm scan_hosts = {.name = "hosts",
                              .operations = serves(Operation::kScan, Operation::kExscan),
                              .probe = &probe,
                              .run = &run,
                              .composes = true};

}  // namespace hr::coll
