#include "plan.hpp"

#include <algorithm>

namespace random_exchange {
namespace {

const Basic kBasics[] = {{MPI_CHAR, 1},  {MPI_BYTE, 1},   {MPI_SHORT, 2},   {MPI_INT, 4},
                         {MPI_FLOAT, 4}, {MPI_DOUBLE, 8}, {MPI_INT64_T, 8}, {MPI_UINT16_T, 2}};

// Returns 0 to `largest` bytes: half of the messages are below 2 KiB, and a tenth near the largest.
std::size_t draw_bytes(Generator& random, std::size_t largest) {
  int bits = 0;
  while (std::size_t{2} << bits <= largest) ++bits;
  const int group = draw(random, 1, 100);
  const int top = group <= 5 ? 0 : group <= 50 ? std::min(11, bits) : group <= 90 ? std::min(17, bits) : bits;
  const std::size_t below = std::size_t{1} << draw(random, 0, top);
  return group <= 3 ? 0 : std::min(largest, below + random() % below);
}

// Draws the factors from which the sides build their types: few long segments, or many short ones.
void draw_factors(Generator& random, Exchange& exchange, std::size_t bytes) {
  const std::size_t units = bytes / exchange.unit_bytes();
  if (units == 0) {
    exchange.a = exchange.b = exchange.c = bytes == 0 ? 0 : 1;
    return;
  }
  const bool short_runs = chance(random, 40);
  const auto limit = [&](std::size_t most) { return static_cast<int>(std::min(most, std::size_t{512})); };
  if (short_runs) {
    exchange.c = draw(random, 1, limit(std::min<std::size_t>(units, 4)));
    const std::size_t rest = units / static_cast<std::size_t>(exchange.c);
    exchange.b = draw(random, 1, limit(rest));
    exchange.a = limit(rest / static_cast<std::size_t>(exchange.b));
  } else {
    exchange.a = draw(random, 1, limit(std::min<std::size_t>(units, 12)));
    std::size_t rest = units / static_cast<std::size_t>(exchange.a);
    exchange.b = draw(random, 1, limit(std::min<std::size_t>(rest, 30)));
    exchange.c = static_cast<int>(rest / static_cast<std::size_t>(exchange.b));
  }
  exchange.a = std::max(exchange.a, 1);
}

Exchange draw_exchange(const Settings& settings, int ranks, int index, bool wild) {
  Generator random = generator(settings.seed, static_cast<std::uint64_t>(index), 0);
  Exchange exchange{};
  exchange.index = index;
  exchange.source = draw(random, 0, ranks - 1);
  exchange.target = chance(random, 10) ? exchange.source : draw(random, 0, ranks - 1);
  exchange.tag = index % 30000;
  const int kinds = chance(random, 25) ? draw(random, 2, 4) : 1;
  for (int i = 0; i < kinds; ++i) {
    exchange.unit.push_back(kBasics[draw(random, 0, static_cast<int>(std::size(kBasics)) - 1)]);
  }
  draw_factors(random, exchange, draw_bytes(random, settings.largest));
  const auto kind = [&] {
    return settings.kinds[static_cast<std::size_t>(draw(random, 0, static_cast<int>(settings.kinds.size()) - 1))];
  };
  exchange.send_memory = kind();
  exchange.receive_memory = kind();
  const auto device = [&] {
    return settings.devices > 0 && chance(random, 50) ? draw(random, 0, settings.devices - 1) : -1;
  };
  exchange.send_device = device();
  exchange.receive_device = device();
  // A blocking send to oneself, or to a rank that does not receive yet, would never complete.
  const bool may_block = !wild && exchange.source != exchange.target;
  exchange.send = static_cast<SendHow>(
      draw(random, may_block ? 0 : static_cast<int>(SendHow::kIsend), static_cast<int>(SendHow::kPersistentSsend)));
  // The library stages buffered sends of device memory in the user's host buffer: that is permitted, but the buffer
  // attached here is meant for small messages.
  if (exchange.send == SendHow::kIbsend && exchange.bytes() > 60000) exchange.send = SendHow::kIsend;
  exchange.receive =
      wild ? ReceiveHow::kAnyMprobe : static_cast<ReceiveHow>(draw(random, 0, static_cast<int>(ReceiveHow::kImprobe)));
  exchange.any_source = chance(random, 30);
  exchange.any_tag = !exchange.any_source && chance(random, 30);  // both would match another exchange's message
  return exchange;
}

}  // namespace

Generator generator(std::uint64_t seed, std::uint64_t index, std::uint64_t purpose) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15ull + index * 0xbf58476d1ce4e5b9ull + purpose * 0x94d049bb133111ebull;
  x ^= x >> 31;
  return Generator(x * 0x9e3779b97f4a7c15ull);
}

int draw(Generator& generator, int lowest, int highest) {
  const auto span = static_cast<std::uint64_t>(highest - lowest) + 1;
  return lowest + static_cast<int>(generator() % span);
}

const char* name_of(SendHow how) {
  constexpr const char* kNames[] = {"send",   "ssend",           "isend",           "issend",
                                    "ibsend", "persistent send", "persistent ssend"};
  return kNames[static_cast<int>(how)];
}

const char* name_of(ReceiveHow how) {
  constexpr const char* kNames[] = {"recv",   "irecv",   "persistent recv",   "probe + recv",
                                    "mprobe", "improbe", "mprobe of anything"};
  return kNames[static_cast<int>(how)];
}

std::size_t Exchange::unit_bytes() const {
  std::size_t sum = 0;
  for (const Basic& basic : unit) sum += basic.bytes;
  return sum;
}

std::size_t Exchange::units() const {
  return static_cast<std::size_t>(a) * static_cast<std::size_t>(b) * static_cast<std::size_t>(c);
}

std::vector<Batch> make_plan(const Settings& settings, int ranks) {
  std::vector<Batch> plan;
  for (int index = 0; index < settings.exchanges;) {
    Generator random = generator(settings.seed, static_cast<std::uint64_t>(index), 1);
    Batch batch{static_cast<int>(plan.size()), chance(random, 20), {}};
    const int size = std::min(draw(random, 1, 20), settings.exchanges - index);
    for (int i = 0; i < size; ++i) batch.exchanges.push_back(draw_exchange(settings, ranks, index++, batch.wild));
    plan.push_back(std::move(batch));
  }
  return plan;
}

}  // namespace random_exchange
