#include "topo/place.hpp"

#include <algorithm>

namespace hr::topo {
namespace {

using Parts = std::vector<CpuSet>;

// Finds the units in each part. A unit that is in several parts belongs to the first.
std::vector<Parts> units_in(const Parts& parts, const Parts& units) {
  std::vector<Parts> inside(parts.size());
  for (const CpuSet& unit : units) {
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (!holds(parts[part], unit)) continue;
      inside[part].push_back(unit);
      break;
    }
  }
  return inside;
}

// Joins every `group` neighbouring parts into one.
Parts grouped(const Parts& parts, int group) {
  Parts whole;
  for (std::size_t at = 0; at < parts.size(); ++at) {
    if (at % static_cast<std::size_t>(group) == 0) {
      whole.push_back(parts[at]);
    } else {
      whole.back() = united(whole.back(), parts[at]);
    }
  }
  return whole;
}

// A rank's units, and the part from which they were taken.
struct Taken {
  CpuSet cpus;
  std::size_t part = 0;
};

CpuSet units_from(const Parts& units, std::size_t first, std::size_t count) {
  Parts some;
  for (std::size_t at = 0; at < count; ++at) some.push_back(units[(first + at) % units.size()]);
  return united(some);
}

const char* plural(int count) { return count == 1 ? "" : "s"; }

Status refuse_sharing(const Machine& machine, int ranks, const Mapping& mapping, std::size_t room) {
  return fail(Errc::kOther,
              "%d rank%s of %d %s%s each on %s: there is room for %zu, and oversubscription was forbidden", ranks,
              plural(ranks), mapping.count, name_of(mapping.unit), plural(mapping.count), machine.name.c_str(), room);
}

// Places ranks round robin over the parts, `per_part` ranks (or one) at a time in each; each rank gets the next `count`
// units. A part whose units are all taken is skipped; when all are full, placement begins again.
Status go_round(const Machine& machine, const Parts& parts, const Parts& units, int ranks, const Mapping& mapping,
                std::vector<Taken>* taken) {
  const std::vector<Parts> inside = units_in(parts, units);
  const auto count = static_cast<std::size_t>(mapping.count);
  const auto block = static_cast<std::size_t>(std::max(mapping.per_part, 1));
  std::vector<std::size_t> room(parts.size());  // ranks that fit
  std::size_t most = 0, all_room = 0;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    room[part] = inside[part].size() / count;
    most = std::max(most, inside[part].size());
    if (mapping.per_part > 0 && room[part] > 0)
      room[part] = block;  // the requested number, even if ranks then share units
    all_room += room[part];
  }
  if (all_room == 0) {
    return fail(Errc::kOther, "%d %s%s for each rank: the largest %s of %s has %zu", mapping.count,
                name_of(mapping.unit), plural(mapping.count), name_of(mapping.level), machine.name.c_str(), most);
  }
  if (!mapping.allow_oversubscription && static_cast<std::size_t>(ranks) > all_room)
    return refuse_sharing(machine, ranks, mapping, all_room);
  std::vector<std::size_t> used(parts.size()), next(parts.size());
  while (taken->size() < static_cast<std::size_t>(ranks)) {
    const std::size_t before = taken->size();
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (std::size_t of_block = 0; of_block < block && used[part] < room[part]; ++of_block) {
        if (taken->size() == static_cast<std::size_t>(ranks)) return kOk;
        const std::size_t fit = inside[part].size() / count;
        taken->push_back({units_from(inside[part], next[part]++ % fit * count, count), part});
        ++used[part];
      }
    }
    if (taken->size() == before) used.assign(parts.size(), 0);
  }
  return kOk;
}

// Returns equal shares of neighbouring units; if `count` is positive, at most `count` evenly spaced units of each
// share.
std::vector<Taken> shares(const Parts& units, int ranks, int count) {
  std::vector<Taken> taken;
  const auto all = static_cast<std::size_t>(ranks);
  for (std::size_t rank = 0; rank < all; ++rank) {
    const std::size_t first = rank * units.size() / all;
    const std::size_t size = (rank + 1) * units.size() / all - first;
    const std::size_t wanted = count > 0 ? std::min(static_cast<std::size_t>(count), size) : size;
    Parts some;
    for (std::size_t at = 0; at < wanted; ++at) some.push_back(units[first + at * size / wanted]);
    taken.push_back({united(some), 0});
  }
  return taken;
}

// Renumbers by part, and keeps the order within each part.
void number_by_part(std::vector<Taken>& taken) {
  std::stable_sort(taken.begin(), taken.end(),
                   [](const Taken& one, const Taken& other) { return one.part < other.part; });
}

void number_round_parts(const Parts& parts, std::vector<Taken>& taken) {
  std::vector<std::vector<Taken>> of_part(parts.size() + 1);
  for (Taken& each : taken) {
    const auto found =
        std::find_if(parts.begin(), parts.end(), [&](const CpuSet& part) { return !common(part, each.cpus).empty(); });
    of_part[static_cast<std::size_t>(found - parts.begin())].push_back(std::move(each));
  }
  const std::size_t all = taken.size();
  taken.clear();
  for (std::size_t round = 0; taken.size() < all; ++round) {
    for (std::vector<Taken>& part : of_part) {
      if (round < part.size()) taken.push_back(std::move(part[round]));
    }
  }
}

// Returns the union of the parts that contain any of the CPUs; the CPUs themselves if no part does.
CpuSet widened(const CpuSet& cpus, const Parts& parts) {
  Parts touched;
  for (const CpuSet& part : parts) {
    if (!common(part, cpus).empty()) touched.push_back(part);
  }
  return touched.empty() ? cpus : united(touched);
}

Status parts_of(const Machine& machine, Level level, Parts* parts) {
  *parts = machine.parts(level);
  if (!parts->empty()) return kOk;
  return fail(Errc::kOther, "%s has no %s that the system reports; `headrace map` shows what it has",
              machine.name.c_str(), name_of(level));
}

Status from_list(const Machine& machine, int ranks, const Mapping& mapping, std::vector<Taken>* taken) {
  if (!mapping.allow_oversubscription && static_cast<std::size_t>(ranks) > mapping.list.size()) {
    return fail(Errc::kOther, "%d ranks on %s: the list of CPUs has %zu entries, and oversubscription was forbidden",
                ranks, machine.name.c_str(), mapping.list.size());
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const CpuSet& cpus = mapping.list[static_cast<std::size_t>(rank) % mapping.list.size()];
    CpuSet missing;
    std::set_difference(cpus.begin(), cpus.end(), machine.allowed.begin(), machine.allowed.end(),
                        std::back_inserter(missing));
    if (!missing.empty()) {
      return fail(Errc::kOther, "rank %d of %s is to run on CPU %u, which does not exist or may not be used", rank,
                  machine.name.c_str(), missing[0]);
    }
    taken->push_back({cpus, 0});
  }
  return kOk;
}

// Orders units round robin over the parts of the first level, within each part over those of the next level, and so on.
Parts nested(const Machine& machine, const Parts& units, std::size_t at) {
  constexpr Level kOrder[] = {Level::kSocket, Level::kNuma, Level::kL3, Level::kL2, Level::kCore};
  if (at == std::size(kOrder) || units.size() < 2) return units;
  std::vector<Parts> inside;
  Parts left = units;
  for (const CpuSet& part : machine.parts(kOrder[at])) {
    Parts in, out;
    for (CpuSet& unit : left) (holds(part, unit) ? in : out).push_back(std::move(unit));
    left = std::move(out);
    if (!in.empty()) inside.push_back(nested(machine, in, at + 1));
  }
  if (!left.empty()) inside.push_back(nested(machine, left, at + 1));
  Parts order;
  for (std::size_t round = 0; order.size() < units.size(); ++round) {
    for (const Parts& part : inside) {
      if (round < part.size()) order.push_back(part[round]);
    }
  }
  return order;
}

// Joins every `count` neighbouring units into one: within NUMA domains if that yields enough for all ranks, else within
// sockets, else anywhere.
Parts neighbours(const Machine& machine, const Parts& units, int count, int ranks) {
  Parts together;
  const auto size = static_cast<std::size_t>(count);
  for (const Level level : {Level::kNuma, Level::kSocket, Level::kMachine}) {
    together.clear();
    for (const Parts& inside : units_in(machine.parts(level), units)) {
      for (std::size_t at = 0; at + size <= inside.size(); at += size) together.push_back(units_from(inside, at, size));
    }
    if (together.size() >= static_cast<std::size_t>(ranks)) break;
  }
  return together;
}

// Places ranks on units in order, close together or (scatter) far apart.
Status in_order(const Machine& machine, const Parts& whole, const Parts& units, int ranks, const Mapping& mapping,
                std::vector<Taken>* taken) {
  Parts together = mapping.count == 1 ? units : neighbours(machine, units, mapping.count, ranks);
  if (together.empty()) return go_round(machine, whole, units, ranks, mapping, taken);  // go_round() reports the reason
  Mapping one_each = mapping;
  one_each.count = 1;
  if (!mapping.allow_oversubscription && static_cast<std::size_t>(ranks) > together.size()) {
    return refuse_sharing(machine, ranks, mapping, together.size());
  }
  if (mapping.policy == Mapping::Policy::kScatter) together = nested(machine, together, 0);
  return go_round(machine, whole, together, ranks, one_each, taken);
}

Status take(const Machine& machine, int ranks, const Mapping& mapping, std::vector<Taken>* taken) {
  Parts units;
  HR_TRY(parts_of(machine, mapping.unit, &units));
  const Parts whole = {machine.allowed};
  switch (mapping.policy) {
    case Mapping::Policy::kList:
      return from_list(machine, ranks, mapping, taken);
    case Mapping::Policy::kShare:
    case Mapping::Policy::kSpread:
      if (static_cast<std::size_t>(ranks) > units.size()) {
        if (!mapping.allow_oversubscription) return refuse_sharing(machine, ranks, mapping, units.size());
        if (mapping.policy == Mapping::Policy::kShare) break;  // not bound
        return in_order(machine, whole, units, ranks, mapping, taken);
      }
      *taken = shares(units, ranks, mapping.policy == Mapping::Policy::kSpread ? mapping.count : 0);
      return kOk;
    case Mapping::Policy::kScatter:
      return in_order(machine, whole, units, ranks, mapping, taken);
    case Mapping::Policy::kParts: {
      if (mapping.level == Level::kMachine) return in_order(machine, whole, units, ranks, mapping, taken);
      Parts parts;
      HR_TRY(parts_of(machine, mapping.level, &parts));
      return go_round(machine, grouped(parts, mapping.group), units, ranks, mapping, taken);
    }
  }
  taken->resize(static_cast<std::size_t>(ranks));
  return kOk;
}

}  // namespace

Status place(const Machine& machine, int ranks, const Mapping& mapping, std::vector<CpuSet>* cpus) {
  std::vector<Taken> taken;
  cpus->assign(static_cast<std::size_t>(ranks), {});
  if (!mapping.bound) return kOk;
  HR_TRY(take(machine, ranks, mapping, &taken));
  if (mapping.numbering == Mapping::Numbering::kFill) number_by_part(taken);
  if (mapping.numbering == Mapping::Numbering::kParts) {
    Parts parts;
    HR_TRY(parts_of(machine, mapping.number_level, &parts));
    number_round_parts(parts, taken);
  }
  cpus->clear();
  for (Taken& each : taken) cpus->push_back(std::move(each.cpus));
  if (!mapping.bind) return kOk;
  Parts parts;
  HR_TRY(parts_of(machine, *mapping.bind, &parts));
  for (CpuSet& each : *cpus) {
    if (!each.empty()) each = widened(each, parts);
  }
  return kOk;
}

Needs needs_of(const Mapping& mapping) {
  Needs needs;
  needs.only = mapping.only;
  needs.levels = {mapping.level, mapping.unit};
  if (mapping.bind) needs.levels.push_back(*mapping.bind);
  if (mapping.numbering == Mapping::Numbering::kParts) needs.levels.push_back(mapping.number_level);
  if (mapping.policy == Mapping::Policy::kScatter) {
    needs.levels.insert(needs.levels.end(), {Level::kSocket, Level::kNuma, Level::kL3, Level::kL2});
  }
  return needs;
}

}  // namespace hr::topo
