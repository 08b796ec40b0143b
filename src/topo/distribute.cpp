#include "topo/distribute.hpp"

#include <algorithm>
#include <numeric>

namespace hr::topo {
namespace {

int units_of(const Host& host, const Mapping& mapping) {
  return static_cast<int>(host.machine->parts(mapping.unit).size());
}

int parts_of(const Host& host, const Mapping& mapping) {
  const auto parts = static_cast<int>(host.machine->parts(mapping.level).size());
  return (parts + mapping.group - 1) / mapping.group;
}

bool has_slots(const Host& host) { return host.slots > 0; }

// Returns the number of ranks after which a host counts as full.
int room_of(const Host& host, const Mapping& mapping) {
  if (mapping.per_host > 0) return mapping.per_host;
  if (mapping.per_part > 0) return mapping.per_part * parts_of(host, mapping);
  return has_slots(host) ? host.slots : std::max(units_of(host, mapping) / mapping.count, 1);
}

// Returns the number of ranks on each host. Hosts without slots share the ranks that the others leave, in blocks whose
// sizes differ by at most one.
std::vector<int> blocks(std::span<const Host> hosts, int ranks, const Mapping& mapping) {
  std::vector<int> block;
  int left = ranks, without = 0;
  for (const Host& host : hosts) {
    block.push_back(room_of(host, mapping));
    if (has_slots(host)) {
      left -= host.slots;
    } else {
      ++without;
    }
  }
  if (without == 0 || left <= 0) return block;
  for (std::size_t host = 0, at = 0; host < hosts.size(); ++host) {
    if (has_slots(hosts[host])) continue;
    block[host] = left / without + (static_cast<int>(at++) < left % without ? 1 : 0);
  }
  return block;
}

// Returns the hosts in the order in which ranks are mapped: `step(host)` ranks on each, round robin, while there is
// space.
template <class Step>
std::vector<int> deal(std::size_t hosts, int ranks, const std::vector<int>& room, Step step) {
  std::vector<int> order;
  std::vector<int> left = room;
  while (static_cast<int>(order.size()) < ranks) {
    const std::size_t before = order.size();
    for (std::size_t host = 0; host < hosts; ++host) {
      const int take = std::min({step(host), left[host], ranks - static_cast<int>(order.size())});
      order.insert(order.end(), static_cast<std::size_t>(std::max(take, 0)), static_cast<int>(host));
      left[host] -= std::max(take, 0);
    }
    if (order.size() == before) left = room;  // when all hosts are full, assignment begins again
  }
  return order;
}

// Returns the host of each rank, for blocks of these sizes; further ranks lengthen the blocks, by one each, round
// robin.
std::vector<int> in_blocks(int ranks, std::vector<int> blocks) {
  long left = ranks;
  for (int& block : blocks) {
    block = static_cast<int>(std::min<long>(block, left));
    left -= block;
  }
  for (std::size_t host = 0; left > 0; --left) ++blocks[host++ % blocks.size()];
  std::vector<int> order;
  for (std::size_t host = 0; host < blocks.size(); ++host) {
    order.insert(order.end(), static_cast<std::size_t>(blocks[host]), static_cast<int>(host));
  }
  return order;
}

void number_host_by_host(std::vector<int>& host_of) { std::stable_sort(host_of.begin(), host_of.end()); }

// Renumbers round robin over hosts, with `step(host)` consecutive ranks on each.
template <class Step>
void number_round_hosts(std::size_t hosts, std::vector<int>& host_of, Step step) {
  std::vector<int> counts(hosts);
  for (const int host : host_of) ++counts[static_cast<std::size_t>(host)];
  host_of = deal(hosts, static_cast<int>(host_of.size()), counts, step);
}

}  // namespace

int fitting_ranks(std::span<const Host> hosts, const Mapping& mapping) {
  int sum = 0;
  for (const Host& host : hosts) {
    const bool is_given = has_slots(host) || mapping.per_host > 0 || mapping.per_part > 0;
    sum += is_given ? room_of(host, mapping) : 1;
  }
  return sum;
}

Status distribute(std::span<const Host> hosts, int ranks, const Mapping& mapping, std::vector<int>* host_of) {
  if (hosts.empty()) return fail(Errc::kOther, "there is no host to run on");
  std::vector<int> room;
  for (const Host& host : hosts) room.push_back(room_of(host, mapping));
  if (std::all_of(room.begin(), room.end(), [](int each) { return each <= 0; })) {
    return fail(Errc::kOther, "%s has no %s that the system reports", hosts[0].name.c_str(), name_of(mapping.level));
  }
  const long all = std::accumulate(room.begin(), room.end(), 0L);
  if (mapping.is_limit && ranks > all) {
    return fail(
        Errc::kOther,
        "%d ranks: ppr places %ld on %zu host%s, %d on each %s. Ask for no more (without -n it is as many), name "
        "more hosts, or use -ppn %d, which begins again",
        ranks, all, hosts.size(), hosts.size() == 1 ? "" : "s", std::max(mapping.per_host, mapping.per_part),
        mapping.per_host > 0 ? "host" : name_of(mapping.level), std::max(mapping.per_host, mapping.per_part));
  }
  if (!mapping.allow_oversubscription && ranks > all) {
    return fail(Errc::kOther, "%d ranks: there is room for %ld on %zu host%s, and oversubscription was forbidden",
                ranks, all, hosts.size(), hosts.size() == 1 ? "" : "s");
  }
  if (mapping.hosts == Mapping::Hosts::kNode) {
    *host_of = deal(hosts.size(), ranks, room, [](std::size_t) { return 1; });
  } else if (mapping.hosts == Mapping::Hosts::kSpan) {
    *host_of = deal(hosts.size(), ranks, room,
                    [&](std::size_t host) { return parts_of(hosts[host], mapping) * std::max(mapping.per_part, 1); });
  } else if (mapping.per_host > 0 || mapping.per_part > 0) {
    *host_of = deal(hosts.size(), ranks, room, [&](std::size_t host) { return room[host]; });
  } else {
    *host_of = in_blocks(ranks, blocks(hosts, ranks, mapping));
  }
  switch (mapping.numbering) {
    case Mapping::Numbering::kAsMapped:
      break;
    case Mapping::Numbering::kNode:
      number_round_hosts(hosts.size(), *host_of, [](std::size_t) { return 1; });
      break;
    case Mapping::Numbering::kSpan:
      number_round_hosts(hosts.size(), *host_of, [&](std::size_t host) { return parts_of(hosts[host], mapping); });
      break;
    case Mapping::Numbering::kSlot:
    case Mapping::Numbering::kFill:
    case Mapping::Numbering::kParts:
      number_host_by_host(*host_of);
      break;
  }
  return kOk;
}

std::string oversubscription(std::span<const Host> hosts, std::span<const int> host_of, const Mapping& mapping) {
  std::vector<int> counts(hosts.size());
  for (const int host : host_of) ++counts[static_cast<std::size_t>(host)];
  std::string text;
  int crowded = 0;
  for (std::size_t at = 0; at < hosts.size(); ++at) {
    const Host& host = hosts[at];
    const int units = units_of(host, mapping);
    const bool by_slots = has_slots(host) && counts[at] > host.slots;
    if (!by_slots && static_cast<long>(counts[at]) * mapping.count <= units) continue;
    if (++crowded > 1) continue;
    text = "oversubscribed: " + std::to_string(counts[at]) + " ranks";
    if (mapping.count > 1) text += " of " + std::to_string(mapping.count) + " " + name_of(mapping.unit) + "s";
    text += " on " + host.name + ", which has ";
    text += by_slots ? std::to_string(host.slots) + " slot" + (host.slots == 1 ? "" : "s")
                     : std::to_string(units) + " " + name_of(mapping.unit) + (units == 1 ? "" : "s");
  }
  if (crowded > 1)
    text += ", and more than they have on " + std::to_string(crowded - 1) + " other host" + (crowded == 2 ? "" : "s");
  return text;
}

}  // namespace hr::topo
