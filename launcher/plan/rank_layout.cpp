#include "plan/rank_layout.hpp"

#include <algorithm>

#include "topo/place.hpp"
#include "words/values.hpp"

namespace hr::launcher {
namespace {

Status read_machines(const Options& options, RankLayout* layout) {
  topo::Needs needs = topo::needs_of(options.mapping);
  if (options.report_bindings || options.do_not_launch) needs.add_everything();
  std::vector<std::string> sources = options.machines;
  if (sources.empty() || !options.do_not_launch) sources.assign(1, "");
  for (const std::string& source : sources) {
    layout->machines.emplace_back();
    HR_TRY(topo::read_machine(source, needs, &layout->machines.back()));
  }
  return kOk;
}

bool is_same_host(std::string_view one, std::string_view other) {
  return alike(one, other) || (is_this_host(one) && is_this_host(other));
}

// Returns the number of a host. The hosts correspond to the machines, in order; the remaining ones are like the last
// machine.
std::size_t number_of(const HostSlots& listed, RankLayout* layout) {
  std::vector<topo::Host>& hosts = layout->hosts;
  for (std::size_t at = 0; at < hosts.size(); ++at) {
    if (alike(hosts[at].name, listed.name)) return at;
  }
  // Checked only now, because this host has many names, and checking a name is slow.
  const bool is_here = is_this_host(listed.name);
  if (is_here && layout->own_host >= 0) return static_cast<std::size_t>(layout->own_host);
  if (is_here) layout->own_host = static_cast<int>(hosts.size());
  const std::size_t machine = std::min(hosts.size(), layout->machines.size() - 1);
  hosts.push_back({listed.name, listed.slots_given ? listed.slots : 0,
                   &*std::next(layout->machines.begin(), static_cast<std::ptrdiff_t>(machine))});
  return hosts.size() - 1;
}

// Consecutive programs on the same hosts, whose slots they share.
struct Group {
  const std::vector<HostSlots>* list = nullptr;
  int per_host = 0;
  long ranks = 0;
};

bool is_same_list(const std::vector<HostSlots>& one, const std::vector<HostSlots>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](const HostSlots& a, const HostSlots& b) {
    return a.slots == b.slots && a.slots_given == b.slots_given && is_same_host(a.name, b.name);
  });
}

Status distribute(const Group& group, topo::Mapping mapping, RankLayout* layout) {
  std::vector<topo::Host> hosts;
  std::vector<int> numbers, host_of;
  for (const HostSlots& listed : *group.list) {
    const std::size_t number = number_of(listed, layout);
    numbers.push_back(static_cast<int>(number));
    hosts.push_back({listed.name, listed.slots_given ? listed.slots : 0, layout->hosts[number].machine});
  }
  if (group.per_host > 0) mapping.per_host = group.per_host;
  HR_TRY(topo::distribute(hosts, static_cast<int>(group.ranks), mapping, &host_of));
  for (const int host : host_of) layout->host_of.push_back(numbers[static_cast<std::size_t>(host)]);
  return kOk;
}

// Returns the number of ranks of a program whose number of ranks is not given.
int ranks_of(const Program& program, const std::vector<HostSlots>& list, topo::Mapping mapping, RankLayout* layout) {
  std::vector<topo::Host> hosts;
  for (const HostSlots& listed : list) {
    hosts.push_back(
        {listed.name, listed.slots_given ? listed.slots : 0, layout->hosts[number_of(listed, layout)].machine});
  }
  if (program.per_host > 0) mapping.per_host = program.per_host;
  return std::max(topo::fitting_ranks(hosts, mapping), 1);
}

}  // namespace

std::vector<int> RankLayout::ranks_on(int host) const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
    if (host_of[rank] == host) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

Status lay_out(Options* options, RankLayout* layout) {
  HR_TRY(read_machines(*options, layout));
  std::vector<Group> groups;
  long total = 0;
  for (Program& program : options->programs) {
    const std::vector<HostSlots>& list = program.hosts.empty() ? options->hosts : program.hosts;
    if (program.ranks == 0) program.ranks = ranks_of(program, list, options->mapping, layout);
    total += program.ranks;
    if (total > kMostRanks) return fail(Errc::kOther, "%ld ranks; a job has up to %d", total, kMostRanks);
    if (groups.empty() || groups.back().per_host != program.per_host || !is_same_list(*groups.back().list, list)) {
      groups.push_back({&list, program.per_host, 0});
    }
    groups.back().ranks += program.ranks;
  }
  for (const Group& group : groups) HR_TRY(distribute(group, options->mapping, layout));
  layout->cpus.resize(layout->host_of.size());
  layout->nearest.resize(layout->host_of.size());
  layout->note = topo::oversubscription(layout->hosts, layout->host_of, options->mapping);
  return kOk;
}

Status place_on(int host, const topo::Mapping& mapping, RankLayout* layout) {
  const std::vector<int> ranks = layout->ranks_on(host);
  const topo::Machine& machine = *layout->hosts[static_cast<std::size_t>(host)].machine;
  std::vector<topo::CpuSet> cpus;
  HR_TRY(topo::place(machine, static_cast<int>(ranks.size()), mapping, &cpus));
  const std::vector<topo::Nearest> nearest = topo::nearest_devices(machine, cpus);
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    layout->cpus[static_cast<std::size_t>(ranks[at])] = std::move(cpus[at]);
    layout->nearest[static_cast<std::size_t>(ranks[at])] = nearest[at];
  }
  return kOk;
}

}  // namespace hr::launcher
