#include "limits/bare_collectives.hpp"

#include <sched.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "limits/clock.hpp"
#include "limits/processes.hpp"

namespace bench {

// One process's view of the group. Buffers and shared memory have the same addresses in all processes.
struct BareGroup {
  static constexpr int kMostSteps = 16;  // enough for 2^16 processes
  struct Member {
    pid_t id = 0;
    Flag met[kMostSteps], wrote, done;
  };
  struct Shared {
    std::atomic<bool> failed{false};  // the system has refused a read
    std::atomic<bool> wrong{false};   // set if received data is wrong
  };

  int me, count;
  bool yields;  // true if there are more processes than cores
  std::size_t bytes;
  Shared& shared;
  Member* members;
  std::byte* room;  // shared; a ring of `rounds_apart` rounds, each with `stride` bytes per member
  std::size_t stride, rounds_apart;
  std::byte* send;
  std::byte* receive;

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(count); }
  [[nodiscard]] Member& own() const { return members[me]; }
  [[nodiscard]] Member& member(std::size_t of) const { return members[of % size()]; }
  [[nodiscard]] std::size_t block() const { return bytes / size(); }
  // Returns a member's memory in a round. The next round that uses this memory begins only after all processes have
  // left this round.
  [[nodiscard]] std::byte* place(unsigned long round, std::size_t of) const {
    return room + ((round % rounds_apart) * size() + of % size()) * stride;
  }

  void wait(const Flag& flag, std::uint64_t wanted) const {
    while (!flag.reached(wanted)) {
      if (yields) sched_yield();
    }
  }
  // Waits until all processes have arrived.
  void meet(Flag Member::* flag, std::uint64_t round) const {
    (own().*flag).tell(round);
    for (int i = 1; i < count; ++i) wait(member(static_cast<std::size_t>(me + i)).*flag, round);
  }
  // A dissemination barrier, as in the benchmark: processes leave it at different times.
  void line_up(std::uint64_t round) const {
    for (std::size_t step = 0, distance = 1; distance < size(); ++step, distance *= 2) {
      own().met[step].tell(round);
      wait(member(size() + static_cast<std::size_t>(me) - distance).met[step], round);
    }
  }
  void read(std::size_t of, std::byte* to, const std::byte* from, std::size_t length) const {
    const iovec local{to, length}, remote{const_cast<std::byte*>(from), length};
    if (process_vm_readv(member(of).id, &local, 1, &remote, 1, 0) != static_cast<ssize_t>(length)) shared.failed = true;
  }
};

namespace {

using Round = unsigned long;

constexpr std::size_t kAny = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kShort = 16384;  // maximum size at which every process combines all vectors
constexpr std::size_t kLong = 4096;    // minimum size at which reading another process's memory may pay off
constexpr std::size_t kPieces = 4;     // number of pieces in a long broadcast

std::size_t index(int me) { return static_cast<std::size_t>(me); }

// Adds the floats of `from` to `to`, one cache line at a time, which compilers vectorise.
void add(std::byte* __restrict to, const std::byte* __restrict from, std::size_t bytes) {
  constexpr std::size_t kLine = 16;
  auto* sum = reinterpret_cast<float*>(to);
  const auto* term = reinterpret_cast<const float*>(from);
  const std::size_t count = bytes / sizeof(float);
  std::size_t i = 0;
  for (; i + kLine <= count; i += kLine) {
    for (std::size_t j = 0; j < kLine; ++j) sum[i + j] += term[i + j];
  }
  for (; i < count; ++i) sum[i] += term[i];
}

void barrier(const BareGroup& group, Round round) { group.meet(&BareGroup::Member::wrote, round); }

void broadcast(const BareGroup& group, Round round) {
  std::byte* const place = group.place(round, 0);
  if (group.me == 0) {
    std::memcpy(place, group.send, group.bytes);
    group.own().wrote.tell(round);
  } else {
    group.wait(group.members[0].wrote, round);
    std::memcpy(group.receive, place, group.bytes);
  }
}

void broadcast_in_pieces(const BareGroup& group, Round round) {
  std::byte* const place = group.place(round, 0);
  const std::size_t piece = group.bytes / kPieces;
  for (std::size_t i = 0; i < kPieces; ++i) {
    const std::size_t begin = i * piece, length = i + 1 == kPieces ? group.bytes - begin : piece;
    const std::uint64_t told = round * kPieces + i;
    if (group.me == 0) {
      std::memcpy(place + begin, group.send + begin, length);
      group.own().wrote.tell(told);
    } else {
      group.wait(group.members[0].wrote, told);
      std::memcpy(group.receive + begin, place + begin, length);
    }
  }
}

void broadcast_by_reading(const BareGroup& group, Round round) {
  if (group.me == 0) {
    group.own().wrote.tell(round);
    for (std::size_t i = 1; i < group.size(); ++i) group.wait(group.member(i).done, round);
  } else {
    group.wait(group.members[0].wrote, round);
    group.read(0, group.receive, group.send, group.bytes);
    group.own().done.tell(round);
  }
}

// Allreduce in which every process writes its vector and sums all vectors.
void allreduce_everybody(const BareGroup& group, Round round) {
  std::memcpy(group.place(round, index(group.me)), group.send, group.bytes);
  group.meet(&BareGroup::Member::wrote, round);
  std::memcpy(group.receive, group.place(round, 0), group.bytes);
  for (std::size_t i = 1; i < group.size(); ++i) add(group.receive, group.place(round, i), group.bytes);
}

// Allreduce of one vector whose parts travel around a ring: process c writes its part c, process c + 1 adds its own,
// and so on; every process copies the result.
void allreduce_ring(const BareGroup& group, Round round) {
  std::byte* const sum = group.place(round, 0);
  const std::size_t part = group.block() / sizeof(float) * sizeof(float);
  const auto begin = [&](std::size_t i) { return i % group.size() * part; };
  const auto length = [&](std::size_t i) {
    return i % group.size() + 1 == group.size() ? group.bytes - begin(i) : part;
  };
  const std::size_t steps = group.size(), me = index(group.me);
  const auto told = [&](std::size_t step) { return round * steps + step; };
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t i = me + steps - step;  // index of the part, modulo the number of processes
    if (step == 0) {
      std::memcpy(sum + begin(i), group.send + begin(i), length(i));
    } else {
      group.wait(group.member(me + steps - 1).wrote, told(step - 1));
      add(sum + begin(i), group.send + begin(i), length(i));
    }
    group.own().wrote.tell(told(step));
  }
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t last = me + i;  // the last process that added to part last + 1
    group.wait(group.member(last).wrote, told(steps - 1));
    std::memcpy(group.receive + begin(last + 1), sum + begin(last + 1), length(last + 1));
  }
}

void allgather(const BareGroup& group, Round round) {
  std::memcpy(group.place(round, 0) + index(group.me) * group.block(), group.send, group.block());
  group.meet(&BareGroup::Member::wrote, round);
  std::memcpy(group.receive, group.place(round, 0), group.block() * group.size());
}

void allgather_by_reading(const BareGroup& group, Round round) {
  const std::size_t block = group.block();
  group.own().wrote.tell(round);
  std::memcpy(group.receive + index(group.me) * block, group.send, block);
  for (std::size_t i = 1; i < group.size(); ++i) {
    const std::size_t of = (index(group.me) + i) % group.size();
    group.wait(group.member(of).wrote, round);
    group.read(of, group.receive + of * block, group.send, block);
  }
  group.meet(&BareGroup::Member::done, round);
}

void alltoall(const BareGroup& group, Round round) {
  const std::size_t block = group.block(), me = index(group.me);
  std::memcpy(group.place(round, me), group.send, block * group.size());
  group.meet(&BareGroup::Member::wrote, round);
  for (std::size_t i = 0; i < group.size(); ++i)
    std::memcpy(group.receive + i * block, group.place(round, i) + me * block, block);
}

void alltoall_by_reading(const BareGroup& group, Round round) {
  const std::size_t block = group.block(), me = index(group.me);
  group.own().wrote.tell(round);
  std::memcpy(group.receive + me * block, group.send + me * block, block);
  for (std::size_t i = 1; i < group.size(); ++i) {
    const std::size_t of = (me + i) % group.size();
    group.wait(group.member(of).wrote, round);
    group.read(of, group.receive + of * block, group.send + me * block, block);
  }
  group.meet(&BareGroup::Member::done, round);
}

constexpr BareAlgorithm kWays[] = {
    {.operation = "barrier", .label = "barrier", .round = &barrier},
    {.operation = "bcast", .label = "bcast, memory", .least = 1, .most = kAny, .round = &broadcast, .apart = true},
    {.operation = "bcast",
     .label = "bcast, pieces",
     .least = kLong,
     .most = kAny,
     .round = &broadcast_in_pieces,
     .apart = true},
    {.operation = "bcast",
     .label = "bcast, reading",
     .least = kLong,
     .most = kAny,
     .round = &broadcast_by_reading,
     .apart = true},
    {.operation = "allreduce",
     .label = "allreduce, everybody",
     .least = 1,
     .most = kShort,
     .round = &allreduce_everybody,
     .adds = true},
    {.operation = "allreduce",
     .label = "allreduce, ring",
     .least = 1024,
     .most = kAny,
     .round = &allreduce_ring,
     .adds = true},
    {.operation = "allgather",
     .label = "allgather, memory",
     .least = 1,
     .most = kAny,
     .round = &allgather,
     .blocks = true},
    {.operation = "allgather",
     .label = "allgather, reading",
     .least = kLong,
     .most = kAny,
     .round = &allgather_by_reading,
     .blocks = true},
    {.operation = "alltoall",
     .label = "alltoall, memory",
     .least = 1,
     .most = kAny,
     .round = &alltoall,
     .blocks = true},
    {.operation = "alltoall",
     .label = "alltoall, reading",
     .least = kLong,
     .most = kAny,
     .round = &alltoall_by_reading,
     .blocks = true},
};

// True if the received data is correct; every process sends ones.
bool received_well(const BareAlgorithm& way, const BareGroup& group) {
  if (way.apart && group.me == 0) return true;
  const auto* const first = reinterpret_cast<const float*>(group.receive);
  const float expected = way.adds ? static_cast<float>(group.count) : 1.0F;
  return std::all_of(first, first + group.bytes / sizeof(float), [&](float one) { return one == expected; });
}

double timed(const BareAlgorithm& way, const BareGroup& group, unsigned rounds) {
  constexpr Round kWarm = 3;
  double start = now_us(), passed = 0;
  for (Round round = 1; round <= rounds + kWarm; ++round) {
    if (round == kWarm + 1) {
      passed = 0;
      start = now_us();
    }
    if (way.apart) {
      group.line_up(round + 1);
      const double before = now_us();
      way.round(group, round);
      passed += now_us() - before;
    } else {
      way.round(group, round);
    }
  }
  const double whole = now_us() - start;
  if (!received_well(way, group)) group.shared.wrong = true;
  return (way.apart ? passed : whole) / rounds;
}

}  // namespace

std::span<const BareAlgorithm> bare_algorithms() { return kWays; }

std::size_t bare_collective_bytes(const BareAlgorithm& way, std::size_t asked, int processes) {
  if (way.most == 0) return 0;
  const std::size_t unit = way.blocks ? static_cast<std::size_t>(processes) * sizeof(float) : sizeof(float);
  return std::max<std::size_t>(asked / unit, 1) * unit;
}

double bare_collective_us(const BareAlgorithm& way, std::size_t bytes, int processes, const std::vector<int>& cores,
                          std::size_t room, unsigned rounds) {
  using Kind = Mapped::Kind;
  const auto count = static_cast<std::size_t>(processes);
  const std::size_t stride = (bytes / sizeof(Flag) + 1) * sizeof(Flag);
  const Mapped members(sizeof(BareGroup::Shared) + (count + 1) * sizeof(BareGroup::Member), Kind::kShared);
  const std::size_t rounds_apart = std::max<std::size_t>(2, room / (count * stride));
  const Mapped memory(rounds_apart * count * stride, Kind::kShared), send(stride, Kind::kOwn),
      receive(stride, Kind::kOwn);
  if (!members || !memory || !send || !receive) return 0;
  auto* const table = reinterpret_cast<BareGroup::Member*>(members.data());
  for (std::size_t i = 0; i < count; ++i) new (table + i) BareGroup::Member;
  auto& shared = *new (table + count) BareGroup::Shared;
  const bool yields = count > cores.size();
  const double found = on_processes(processes, cores, [&](int me) {
    const BareGroup group{me,     processes,    yields,      bytes,         shared, table, memory.data(),
                          stride, rounds_apart, send.data(), receive.data()};
    std::fill_n(reinterpret_cast<float*>(group.send), stride / sizeof(float), 1.0F);
    std::memset(group.receive, 0, stride);
    group.own().id = getpid();
    group.line_up(1);
    return timed(way, group, rounds);
  });
  if (shared.failed) return 0;  // nothing was received
  return shared.wrong ? -1 : found;
}

}  // namespace bench
