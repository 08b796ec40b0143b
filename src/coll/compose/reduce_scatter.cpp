// Reduce-scatter over hosts: reduces to one process of each host, reduce-scatters among these processes, so that each
// has the parts of its host, and scatters the parts within the hosts.
#include "coll/compose/step.hpp"
#include "coll/reduction.hpp"
#include "coll/registry.hpp"

namespace hr::coll {
namespace {

// The parts of the vector, host after host. Counts and displacements are in elements.
class Parts {
 public:
  Parts(const Call& call, const Hosts& hosts) : call_(call), hosts_(hosts) {
    Count sum = 0;
    for (int host = 0; host < hosts.count(); ++host) {
      Count of_host = 0;
      for (const int rank : hosts.ranks(host)) {
        const Count count = call.send.count(rank);
        if (host == hosts.own()) {
          displacements_.push_back(of_host);
          counts_.push_back(count);
        }
        of_host += count;
      }
      by_host_.push_back(of_host);
      if (host == hosts.own()) own_ = {sum, of_host};
      sum += of_host;
    }
  }
  // Returns the parts of the processes of this host, in memory that begins with the host's first part.
  [[nodiscard]] Blocks here(const View& parts) const {
    return Blocks::counted_in(parts, counts_.data(), displacements_.data());
  }
  // Returns one part per host; `vector` is in the order of hosts.
  [[nodiscard]] Blocks by_host(const View& vector) const { return Blocks::consecutive(vector, by_host_.data()); }
  // Returns this host's part of a vector in the order of hosts.
  [[nodiscard]] View of_host(const View& vector) const { return slice(vector, own_.first, own_.count); }
  // Copies a vector from the order of ranks to the order of hosts.
  [[nodiscard]] Status arrange(const View& by_rank, const View& vector) const {
    std::vector<Count> begin{0};
    for (int rank = 0; rank < call_.size(); ++rank) begin.push_back(begin.back() + call_.send.count(rank));
    Count at = 0;
    for (const int rank : hosts_.ranks()) {
      const Count count = call_.send.count(rank);
      HR_TRY(layout::copy(slice(by_rank, begin[static_cast<std::size_t>(rank)], count), slice(vector, at, count)));
      at += count;
    }
    return kOk;
  }

 private:
  struct Own {
    Count first, count;
  };
  const Call& call_;
  const Hosts& hosts_;
  std::vector<Count> by_host_, counts_, displacements_;
  Own own_{};
};

Task run(const Call& call) {
  const Levels levels(call);
  const Hosts& hosts = levels.hosts();
  const Parts parts(call, hosts);
  const View& vector = call.send.all();
  Step up(call, &levels.here(), Operation::kReduce);
  Step across(call, levels.across(), Operation::kReduceScatter);
  Step down(call, &levels.here(), Operation::kScatterv);
  TypedScratch reduced(levels.speaks() ? vector.count : 0, *vector.type);
  TypedScratch arranged(levels.speaks() && !hosts.in_order() ? vector.count : 0, *vector.type);
  const View& by_host = hosts.in_order() ? reduced.view() : arranged.view();
  TypedScratch result(levels.speaks() ? parts.of_host(by_host).count : 0, *vector.type);
  StepsOutcome outcome;
  up.call.send = one_block(vector);
  if (levels.speaks()) up.call.recv = one_block(reduced.view());
  Task first = up.run();
  const Status went_up = co_await first;
  if (!outcome.add_step(went_up)) co_return outcome.without({&across, &down});
  if (levels.speaks()) {
    if (!hosts.in_order()) outcome.add(parts.arrange(reduced.view(), by_host));
    across.call.send = parts.by_host(by_host);
    across.call.recv = one_block(result.view());
    down.call.send = parts.here(result.view());
  }
  down.call.op = nullptr;
  down.call.bytes = 0;
  down.call.recv = call.recv;
  Task rest = run_in_order({&across, &down});
  const Status came_down = co_await rest;
  outcome.add(came_down);
  co_return outcome.result();
}

}  // namespace

const Algorithm reduce_scatter_hosts = {.name = "hosts",
                                        .operations = serves(Operation::kReduceScatter, Operation::kReduceScatterBlock),
                                        .probe = &over_hosts_in_order,
                                        .run = &run,
                                        .composes = true};

}  // namespace hr::coll
