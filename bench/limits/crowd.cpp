#include "limits/crowd.hpp"

#include <sched.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "limits/clock.hpp"
#include "limits/processes.hpp"

namespace bench {

// What one process of a crowd sees. Its buffers and the shared memory are at the same addresses in all of them.
struct Crowd {
  static constexpr int kMostSteps = 16;  // for 2^16 processes
  struct Member {
    pid_t id = 0;
    Flag met[kMostSteps], wrote, done;
  };
  struct Shared {
    std::atomic<bool> failed{false};  // the system did not let us read
    std::atomic<bool> wrong{false};   // received
  };

  int me, count;
  bool yields;  // more processes than cores
  std::size_t bytes;
  Shared& shared;
  Member* members;
  std::byte* room;  // shared; of as many rounds as it holds, `stride` for each member
  std::size_t stride, rounds_apart;
  std::byte* send;
  std::byte* receive;

  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(count); }
  [[nodiscard]] Member& own() const { return members[me]; }
  [[nodiscard]] Member& member(std::size_t of) const { return members[of % size()]; }
  [[nodiscard]] std::size_t block() const { return bytes / size(); }
  // The first round that uses this memory again begins after everybody has left this one.
  [[nodiscard]] std::byte* place(unsigned long round, std::size_t of) const {
    return room + ((round % rounds_apart) * size() + of % size()) * stride;
  }

  void wait(const Flag& flag, std::uint64_t wanted) const {
    while (!flag.reached(wanted)) {
      if (yields) sched_yield();
    }
  }
  // Until everybody is there.
  void meet(Flag Member::* flag, std::uint64_t round) const {
    (own().*flag).tell(round);
    for (int i = 1; i < count; ++i) wait(member(static_cast<std::size_t>(me + i)).*flag, round);
  }
  // The benchmark's barrier, by dissemination; processes leave it one after the other as they do there.
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
constexpr std::size_t kShort = 16384;  // up to which everybody combines everything
constexpr std::size_t kLong = 4096;    // from which reading another process may pay
constexpr std::size_t kPieces = 4;     // of a long broadcast

std::size_t index(int me) { return static_cast<std::size_t>(me); }

// `to` += `from`, floats; a line's worth at a time, which compilers turn into instructions on several at once.
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

void barrier(const Crowd& crowd, Round round) { crowd.meet(&Crowd::Member::wrote, round); }

void broadcast(const Crowd& crowd, Round round) {
  std::byte* const place = crowd.place(round, 0);
  if (crowd.me == 0) {
    std::memcpy(place, crowd.send, crowd.bytes);
    crowd.own().wrote.tell(round);
  } else {
    crowd.wait(crowd.members[0].wrote, round);
    std::memcpy(crowd.receive, place, crowd.bytes);
  }
}

void broadcast_in_pieces(const Crowd& crowd, Round round) {
  std::byte* const place = crowd.place(round, 0);
  const std::size_t piece = crowd.bytes / kPieces;
  for (std::size_t i = 0; i < kPieces; ++i) {
    const std::size_t begin = i * piece, length = i + 1 == kPieces ? crowd.bytes - begin : piece;
    const std::uint64_t told = round * kPieces + i;
    if (crowd.me == 0) {
      std::memcpy(place + begin, crowd.send + begin, length);
      crowd.own().wrote.tell(told);
    } else {
      crowd.wait(crowd.members[0].wrote, told);
      std::memcpy(crowd.receive + begin, place + begin, length);
    }
  }
}

void broadcast_by_reading(const Crowd& crowd, Round round) {
  if (crowd.me == 0) {
    crowd.own().wrote.tell(round);
    for (std::size_t i = 1; i < crowd.size(); ++i) crowd.wait(crowd.member(i).done, round);
  } else {
    crowd.wait(crowd.members[0].wrote, round);
    crowd.read(0, crowd.receive, crowd.send, crowd.bytes);
    crowd.own().done.tell(round);
  }
}

// Everybody writes its vector down and adds all of them.
void allreduce_everybody(const Crowd& crowd, Round round) {
  std::memcpy(crowd.place(round, index(crowd.me)), crowd.send, crowd.bytes);
  crowd.meet(&Crowd::Member::wrote, round);
  std::memcpy(crowd.receive, crowd.place(round, 0), crowd.bytes);
  for (std::size_t i = 1; i < crowd.size(); ++i) add(crowd.receive, crowd.place(round, i), crowd.bytes);
}

// The parts of one vector go round: process c writes its part c down, process c + 1 adds its own, and so on; everybody
// copies out what has gone round.
void allreduce_ring(const Crowd& crowd, Round round) {
  std::byte* const sum = crowd.place(round, 0);
  const std::size_t part = crowd.block() / sizeof(float) * sizeof(float);
  const auto begin = [&](std::size_t i) { return i % crowd.size() * part; };
  const auto length = [&](std::size_t i) {
    return i % crowd.size() + 1 == crowd.size() ? crowd.bytes - begin(i) : part;
  };
  const std::size_t steps = crowd.size(), me = index(crowd.me);
  const auto told = [&](std::size_t step) { return round * steps + step; };
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t i = me + steps - step;  // the part
    if (step == 0) {
      std::memcpy(sum + begin(i), crowd.send + begin(i), length(i));
    } else {
      crowd.wait(crowd.member(me + steps - 1).wrote, told(step - 1));
      add(sum + begin(i), crowd.send + begin(i), length(i));
    }
    crowd.own().wrote.tell(told(step));
  }
  for (std::size_t i = 0; i < steps; ++i) {
    const std::size_t last = me + i;  // the one that has added to a part last; part last + 1 it is
    crowd.wait(crowd.member(last).wrote, told(steps - 1));
    std::memcpy(crowd.receive + begin(last + 1), sum + begin(last + 1), length(last + 1));
  }
}

void allgather(const Crowd& crowd, Round round) {
  std::memcpy(crowd.place(round, 0) + index(crowd.me) * crowd.block(), crowd.send, crowd.block());
  crowd.meet(&Crowd::Member::wrote, round);
  std::memcpy(crowd.receive, crowd.place(round, 0), crowd.block() * crowd.size());
}

void allgather_by_reading(const Crowd& crowd, Round round) {
  const std::size_t block = crowd.block();
  crowd.own().wrote.tell(round);
  std::memcpy(crowd.receive + index(crowd.me) * block, crowd.send, block);
  for (std::size_t i = 1; i < crowd.size(); ++i) {
    const std::size_t of = (index(crowd.me) + i) % crowd.size();
    crowd.wait(crowd.member(of).wrote, round);
    crowd.read(of, crowd.receive + of * block, crowd.send, block);
  }
  crowd.meet(&Crowd::Member::done, round);
}

void alltoall(const Crowd& crowd, Round round) {
  const std::size_t block = crowd.block(), me = index(crowd.me);
  std::memcpy(crowd.place(round, me), crowd.send, block * crowd.size());
  crowd.meet(&Crowd::Member::wrote, round);
  for (std::size_t i = 0; i < crowd.size(); ++i)
    std::memcpy(crowd.receive + i * block, crowd.place(round, i) + me * block, block);
}

void alltoall_by_reading(const Crowd& crowd, Round round) {
  const std::size_t block = crowd.block(), me = index(crowd.me);
  crowd.own().wrote.tell(round);
  std::memcpy(crowd.receive + me * block, crowd.send + me * block, block);
  for (std::size_t i = 1; i < crowd.size(); ++i) {
    const std::size_t of = (me + i) % crowd.size();
    crowd.wait(crowd.member(of).wrote, round);
    crowd.read(of, crowd.receive + of * block, crowd.send + me * block, block);
  }
  crowd.meet(&Crowd::Member::done, round);
}

constexpr CrowdWay kWays[] = {
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

// Everybody sends ones.
bool received_well(const CrowdWay& way, const Crowd& crowd) {
  if (way.apart && crowd.me == 0) return true;
  const auto* const first = reinterpret_cast<const float*>(crowd.receive);
  const float expected = way.adds ? static_cast<float>(crowd.count) : 1.0F;
  return std::all_of(first, first + crowd.bytes / sizeof(float), [&](float one) { return one == expected; });
}

double timed(const CrowdWay& way, const Crowd& crowd, unsigned rounds) {
  constexpr Round kWarm = 3;
  double start = now_us(), passed = 0;
  for (Round round = 1; round <= rounds + kWarm; ++round) {
    if (round == kWarm + 1) {
      passed = 0;
      start = now_us();
    }
    if (way.apart) {
      crowd.line_up(round + 1);
      const double before = now_us();
      way.round(crowd, round);
      passed += now_us() - before;
    } else {
      way.round(crowd, round);
    }
  }
  const double whole = now_us() - start;
  if (!received_well(way, crowd)) crowd.shared.wrong = true;
  return (way.apart ? passed : whole) / rounds;
}

}  // namespace

std::span<const CrowdWay> crowd_ways() { return kWays; }

std::size_t crowd_bytes(const CrowdWay& way, std::size_t asked, int processes) {
  if (way.most == 0) return 0;
  const std::size_t unit = way.blocks ? static_cast<std::size_t>(processes) * sizeof(float) : sizeof(float);
  return std::max<std::size_t>(asked / unit, 1) * unit;
}

double crowd_us(const CrowdWay& way, std::size_t bytes, int processes, const std::vector<int>& cores, std::size_t room,
                unsigned rounds) {
  using Kind = Mapped::Kind;
  const auto count = static_cast<std::size_t>(processes);
  const std::size_t stride = (bytes / sizeof(Flag) + 1) * sizeof(Flag);
  const Mapped members(sizeof(Crowd::Shared) + (count + 1) * sizeof(Crowd::Member), Kind::kShared);
  const std::size_t rounds_apart = std::max<std::size_t>(2, room / (count * stride));
  const Mapped memory(rounds_apart * count * stride, Kind::kShared), send(stride, Kind::kOwn),
      receive(stride, Kind::kOwn);
  if (!members || !memory || !send || !receive) return 0;
  auto* const table = reinterpret_cast<Crowd::Member*>(members.data());
  for (std::size_t i = 0; i < count; ++i) new (table + i) Crowd::Member;
  auto& shared = *new (table + count) Crowd::Shared;
  const bool yields = count > cores.size();
  const double found = on_processes(processes, cores, [&](int me) {
    const Crowd crowd{me,     processes,    yields,      bytes,         shared, table, memory.data(),
                      stride, rounds_apart, send.data(), receive.data()};
    std::fill_n(reinterpret_cast<float*>(crowd.send), stride / sizeof(float), 1.0F);
    std::memset(crowd.receive, 0, stride);
    crowd.own().id = getpid();
    crowd.line_up(1);
    return timed(way, crowd, rounds);
  });
  if (shared.failed) return 0;  // so that nothing came
  return shared.wrong ? -1 : found;
}

}  // namespace bench
