// Random policies on random machines: invariants that hold for all of them.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "machines.hpp"
#include "topo/distribute.hpp"
#include "topo/place.hpp"

namespace hr::topo {
namespace {

constexpr int kMachines = 60, kMappings = 60;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(engine_); }
  bool one_in(int many) { return number(1, many) == 1; }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return *(all.begin() + number(0, static_cast<int>(all.size()) - 1));
  }

 private:
  std::mt19937 engine_;
};

// Returns a machine, some of whose CPUs may be forbidden.
Machine random_machine(Random& random) {
  const int sockets = random.number(1, 3), domains = random.number(1, 3), caches = random.number(1, 2),
            cores = random.number(1, 5), threads = random.number(1, 2);
  const auto text = [](const char* what, int count) { return std::string(what) + ":" + std::to_string(count) + " "; };
  Machine machine = synthetic(text("pack", sockets) + text("numa", domains) + text("l3", caches) + text("core", cores) +
                              text("pu", threads));
  if (random.one_in(2)) return machine;
  CpuSet some;
  for (const unsigned cpu : machine.allowed) {
    if (!random.one_in(3)) some.push_back(cpu);
  }
  if (!some.empty()) machine.allowed = some;
  return machine;
}

Mapping random_mapping(Random& random) {
  using enum Level;
  Mapping mapping;
  mapping.hosts = random.one_of({Mapping::Hosts::kSlots, Mapping::Hosts::kNode, Mapping::Hosts::kSpan});
  mapping.policy = random.one_of(
      {Mapping::Policy::kShare, Mapping::Policy::kParts, Mapping::Policy::kScatter, Mapping::Policy::kSpread});
  mapping.level = random.one_of({kMachine, kSocket, kNuma, kL3, kCache, kCore});
  mapping.unit = random.one_of({kCore, kThread});
  mapping.count = random.one_in(2) ? 1 : random.number(1, 4);
  if (random.one_in(4)) mapping.per_part = random.number(1, 3);
  if (random.one_in(4)) mapping.per_host = random.number(1, 5);
  if (random.one_in(4)) mapping.group = random.number(1, 3);
  if (random.one_in(3)) mapping.bind = random.one_of({kThread, kCore, kNuma, kSocket});
  mapping.numbering =
      random.one_of({Mapping::Numbering::kAsMapped, Mapping::Numbering::kSlot, Mapping::Numbering::kNode,
                     Mapping::Numbering::kSpan, Mapping::Numbering::kFill, Mapping::Numbering::kParts});
  mapping.number_level = random.one_of({kSocket, kNuma, kCore});
  mapping.allow_oversubscription = !random.one_in(3);
  return mapping;
}

bool any_shared(const std::vector<CpuSet>& placement) {
  std::set<unsigned> seen;
  for (const CpuSet& cpus : placement) {
    for (const unsigned cpu : cpus) {
      if (!seen.insert(cpu).second) return true;
    }
  }
  return false;
}

std::string describe(const Machine& machine, const Mapping& mapping, int ranks) {
  return "machine with " + std::to_string(machine.parts(Level::kCore).size()) + " cores, " + std::to_string(ranks) +
         " ranks, policy " + std::to_string(static_cast<int>(mapping.policy)) + ", level " + name_of(mapping.level) +
         ", unit " + name_of(mapping.unit) + ", count " + std::to_string(mapping.count) + ", per part " +
         std::to_string(mapping.per_part) + ", group " + std::to_string(mapping.group) + ", forbidden " +
         std::to_string(mapping.allow_oversubscription ? 0 : 1);
}

TEST(RandomMappings, EveryRankHasAPlaceThatIsAllowed) {
  int placements = 0, refusals = 0;
  Random random(20260105);
  for (int at = 0; at < kMachines; ++at) {
    const Machine machine = random_machine(random);
    for (int each = 0; each < kMappings; ++each) {
      const Mapping mapping = random_mapping(random);
      const int ranks = random.number(1, 40);
      SCOPED_TRACE(describe(machine, mapping, ranks));
      std::vector<CpuSet> cpus;
      if (!place(machine, ranks, mapping, &cpus).ok()) {
        EXPECT_FALSE(take_detail().empty());
        ++refusals;
        continue;
      }
      ++placements;
      ASSERT_EQ(cpus.size(), static_cast<std::size_t>(ranks));
      const std::size_t units = machine.parts(mapping.unit).size();
      const bool may_be_unbound = mapping.policy == Mapping::Policy::kShare && static_cast<std::size_t>(ranks) > units;
      for (const CpuSet& set : cpus) {
        EXPECT_TRUE(may_be_unbound || !set.empty());
        EXPECT_TRUE(holds(machine.allowed, set));
      }
      // A rank is alone on its CPUs if that was requested and the binding does not widen them; N ranks on a part share
      // its CPUs.
      const bool is_exact = !mapping.bind && mapping.per_part == 0;
      if (is_exact && !mapping.allow_oversubscription) {
        EXPECT_FALSE(any_shared(cpus));
      }
    }
  }
  EXPECT_GT(placements, kMachines * kMappings / 2) << "most of these are possible";
  EXPECT_GT(refusals, 0);
}

TEST(RandomMappings, NumberingMovesRanksAndNothingElse) {
  Random random(7);
  for (int at = 0; at < kMachines; ++at) {
    const Machine machine = random_machine(random);
    for (int each = 0; each < kMappings; ++each) {
      Mapping mapping = random_mapping(random);
      const int ranks = random.number(1, 40);
      std::vector<CpuSet> one, other;
      if (!place(machine, ranks, mapping, &one).ok()) continue;
      mapping.numbering = Mapping::Numbering::kAsMapped;
      ASSERT_TRUE(place(machine, ranks, mapping, &other).ok());
      EXPECT_EQ(std::multiset<CpuSet>(one.begin(), one.end()), std::multiset<CpuSet>(other.begin(), other.end()))
          << describe(machine, mapping, ranks);
    }
  }
}

TEST(RandomMappings, BunchFillsCoresInOrder) {
  Random random(3);
  for (int at = 0; at < kMachines; ++at) {
    const Machine machine = random_machine(random);
    const std::vector<CpuSet> all = machine.parts(Level::kCore);
    const int ranks = random.number(1, static_cast<int>(all.size()));
    std::vector<CpuSet> cpus;
    ASSERT_TRUE(place(machine, ranks, {.policy = Mapping::Policy::kParts}, &cpus).ok());
    EXPECT_EQ(cpus, std::vector<CpuSet>(all.begin(), all.begin() + ranks));
  }
}

// No socket ever has two ranks more than another socket that still has free cores, after any number of ranks. The same
// is true for the domains of a socket.
TEST(RandomMappings, ScatterKeepsPartsLevel) {
  Random random(5);
  for (int at = 0; at < kMachines; ++at) {
    const Machine machine = random_machine(random);
    const int ranks = static_cast<int>(machine.parts(Level::kCore).size());
    std::vector<CpuSet> cpus;
    ASSERT_TRUE(place(machine, ranks, {.policy = Mapping::Policy::kScatter}, &cpus).ok());
    EXPECT_FALSE(any_shared(cpus));
    const auto check = [&](const std::vector<CpuSet>& parts) {
      std::vector<int> used(parts.size()), room(parts.size());
      const auto part_of = [&](const CpuSet& set) {
        for (std::size_t part = 0; part < parts.size(); ++part) {
          if (holds(parts[part], set)) return static_cast<int>(part);
        }
        return -1;
      };
      for (const CpuSet& core : machine.parts(Level::kCore)) {
        if (const int part = part_of(core); part >= 0) ++room[static_cast<std::size_t>(part)];
      }
      for (const CpuSet& set : cpus) {
        const int part = part_of(set);
        if (part < 0) continue;
        ++used[static_cast<std::size_t>(part)];
        for (std::size_t other = 0; other < parts.size(); ++other) {
          if (used[other] < room[other]) {
            EXPECT_LE(used[static_cast<std::size_t>(part)], used[other] + 1);
          }
        }
      }
    };
    check(machine.parts(Level::kSocket));
    for (const CpuSet& socket : machine.parts(Level::kSocket)) {
      std::vector<CpuSet> inside;
      for (const CpuSet& domain : machine.parts(Level::kNuma)) {
        if (holds(socket, domain)) inside.push_back(domain);
      }
      check(inside);
    }
  }
}

TEST(RandomMappings, DistributionUsesHostsAsFarAsTheyGo) {
  Random random(11);
  for (int at = 0; at < kMachines; ++at) {
    const Machine machine = random_machine(random);
    for (int each = 0; each < kMappings; ++each) {
      Mapping mapping = random_mapping(random);
      std::vector<Host> hosts;
      int slots = 0;
      bool all_given = true;
      for (int host = random.number(1, 5); host > 0; --host) {
        hosts.push_back({"h", random.one_in(3) ? 0 : random.number(1, 9), &machine});
        slots += hosts.back().slots;
        all_given = all_given && hosts.back().slots > 0;
      }
      const int ranks = random.number(1, 60);
      std::vector<int> host_of;
      if (!distribute(hosts, ranks, mapping, &host_of).ok()) {
        EXPECT_FALSE(take_detail().empty());
        EXPECT_FALSE(mapping.allow_oversubscription);
        continue;
      }
      ASSERT_EQ(host_of.size(), static_cast<std::size_t>(ranks));
      std::map<int, int> counts;
      for (const int host : host_of) {
        ASSERT_GE(host, 0);
        ASSERT_LT(host, static_cast<int>(hosts.size()));
        ++counts[host];
      }
      if (!all_given || ranks > slots || mapping.per_host > 0 || mapping.per_part > 0) continue;
      for (const auto& [host, count] : counts) EXPECT_LE(count, hosts[static_cast<std::size_t>(host)].slots);
    }
  }
}

}  // namespace
}  // namespace hr::topo
