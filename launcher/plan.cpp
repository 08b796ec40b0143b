#include "plan.hpp"

#include <algorithm>

#include "base/ranges.hpp"
#include "topo/place.hpp"
#include "values.hpp"

namespace hr::launcher {
namespace {

// This version starts ranks on one host.
Status check_hosts(const Options& options) {
  if (options.do_not_launch) return kOk;
  for (const HostSlots& host : options.host_list) {
    if (is_this_host(host.name)) continue;
    return fail(
        Errc::kOther,
        "host %s is not this machine (%s), and this version of Headrace starts ranks on one host only; leave the "
        "option out, or name localhost",
        host.name.c_str(), own_host_name().c_str());
  }
  return kOk;
}

Status read_machines(const Options& options, Plan* plan) {
  topo::Needs needs = topo::needs_of(options.mapping);
  if (options.report_bindings || options.do_not_launch) needs.add_everything();
  std::vector<std::string> sources = options.machines;
  if (sources.empty() || !options.do_not_launch) sources.assign(1, "");
  for (const std::string& source : sources) {
    plan->machines.emplace_back();
    HR_TRY(topo::read_machine(source, needs, &plan->machines.back()));
  }
  return kOk;
}

// Hosts that the command line names are like the machines in order, and the rest like the last of these. Without names
// each machine is a host.
void name_hosts(const Options& options, Plan* plan) {
  auto machine = plan->machines.begin();
  const std::size_t count = std::max(options.host_list.size(), plan->machines.size());
  for (std::size_t at = 0; at < count; ++at) {
    topo::Host host{machine->name, 0, &*machine};
    if (at < options.host_list.size()) {
      const HostSlots& said = options.host_list[at];
      host.name = said.name;
      host.slots = said.slots_said ? said.slots : 0;
    } else if (!options.host_list.empty()) {
      break;
    } else if (plan->machines.size() > 1 || !options.machines.empty()) {
      host.name = "host" + std::to_string(at);
    }
    plan->hosts.push_back(std::move(host));
    if (std::next(machine) != plan->machines.end()) ++machine;
  }
}

Status count_ranks(Options& options, const Plan& plan) {
  const int fit = std::max(topo::ranks_that_fit(plan.hosts, options.mapping), 1);
  long sum = 0;
  for (Program& program : options.programs) {
    if (program.ranks == 0) program.ranks = fit;
    sum += program.ranks;
  }
  if (sum <= kMostRanks) return kOk;
  return fail(Errc::kOther, "%ld ranks; one job takes up to %d", sum, kMostRanks);
}

Status place_on(int host, const Options& options, Plan* plan) {
  const std::vector<int> ranks = plan->ranks_on(host);
  const topo::Machine& machine = *plan->hosts[static_cast<std::size_t>(host)].machine;
  std::vector<topo::CpuSet> cpus;
  HR_TRY(topo::place(machine, static_cast<int>(ranks.size()), options.mapping, &cpus));
  const std::vector<topo::Nearest> nearest = topo::nearest_devices(machine, cpus);
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    plan->cpus[static_cast<std::size_t>(ranks[at])] = std::move(cpus[at]);
    plan->nearest[static_cast<std::size_t>(ranks[at])] = nearest[at];
  }
  return kOk;
}

}  // namespace

std::vector<int> Plan::ranks_on(int host) const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < host_of.size(); ++rank) {
    if (host_of[rank] == host) ranks.push_back(static_cast<int>(rank));
  }
  return ranks;
}

Status make_plan(Options& options, Plan* plan) {
  HR_TRY(check_hosts(options));
  HR_TRY(read_machines(options, plan));
  name_hosts(options, plan);
  HR_TRY(count_ranks(options, *plan));
  const int ranks = options.ranks();
  HR_TRY(topo::distribute(plan->hosts, ranks, options.mapping, &plan->host_of));
  plan->cpus.resize(static_cast<std::size_t>(ranks));
  plan->nearest.resize(static_cast<std::size_t>(ranks));
  for (int host = 0; host < static_cast<int>(plan->hosts.size()); ++host) HR_TRY(place_on(host, options, plan));
  plan->note = topo::oversubscription(plan->hosts, plan->host_of, options.mapping);
  return kOk;
}

std::string cores_text(const topo::Machine& machine, const topo::CpuSet& cpus) {
  std::vector<std::size_t> cores;
  const std::vector<topo::CpuSet>& all =
      machine.all(topo::Level::kCore).empty() ? machine.all(topo::Level::kThread) : machine.all(topo::Level::kCore);
  for (std::size_t core = 0; core < all.size(); ++core) {
    if (!topo::common(all[core], cpus).empty()) cores.push_back(core);
  }
  return as_ranges(cores);
}

std::string nearest_text(const topo::Nearest& nearest) {
  const auto text = [](const char* kind, const topo::Device* device, topo::Distance distance) {
    return device == nullptr ? "" : std::string(kind) + device->name + " (" + topo::text_of(distance) + ")";
  };
  const std::string gpu = text("; GPU ", nearest.gpu, nearest.gpu_distance);
  return gpu + text(gpu.empty() ? "; NIC " : ", NIC ", nearest.nic, nearest.nic_distance);
}

}  // namespace hr::launcher
