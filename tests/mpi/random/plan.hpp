// Plan of the random exchange: computed from the seed on every rank with the same result, without communication.
//
// An exchange is one message. Its signature (the sequence of basic types) is a short random unit, repeated a * b * c
// times; each side chooses its own layout in memory (layout.hpp). Every exchange and every side draws from its own
// generator, so a rank computes only its own exchanges.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "../../gpu/device_memory.hpp"

namespace random_exchange {

using Generator = std::mt19937_64;

// Returns a generator for one purpose, the same on all ranks.
Generator generator(std::uint64_t seed, std::uint64_t index, std::uint64_t purpose);

// Returns a number uniform in [lowest, highest], the same on every machine (the standard's distributions are not).
int draw(Generator& generator, int lowest, int highest);
inline bool chance(Generator& generator, int percent) { return draw(generator, 1, 100) <= percent; }

struct Basic {
  MPI_Datatype type;
  std::size_t bytes;
};

enum class SendHow { kSend, kSsend, kIsend, kIssend, kIbsend, kPersistent, kPersistentSsend };
enum class ReceiveHow { kRecv, kIrecv, kPersistent, kProbe, kMprobe, kImprobe, kAnyMprobe };

const char* name_of(SendHow how);
const char* name_of(ReceiveHow how);

struct Exchange {
  int index;
  int source, target, tag;
  bool any_source, any_tag;  // wildcards of the receive
  SendHow send;
  ReceiveHow receive;
  hr::test::MemoryKind send_memory, receive_memory;
  int send_device, receive_device;  // -1: the device of the rank
  std::vector<Basic> unit;
  int a, b, c;  // units: a * b * c

  std::size_t unit_bytes() const;
  std::size_t units() const;
  std::size_t bytes() const { return unit_bytes() * units(); }
};

// Exchanges that are pending together. All ranks process them in index order.
struct Batch {
  int number;
  // True if every receive accepts any message (through MPI_Mprobe with both wildcards) after all sends have been
  // started.
  bool wild;
  std::vector<Exchange> exchanges;
};

struct Settings {
  std::uint64_t seed = 1;
  int exchanges = 2000;
  std::size_t largest = std::size_t{4} << 20;  // bytes of the largest message
  std::vector<hr::test::MemoryKind> kinds = {hr::test::MemoryKind::kHost};
  int devices = 0;  // number usable on every rank; half of the buffers are on one of them
  // A file that ends the run; if empty, there is a single pass.
  std::string until;
};

std::vector<Batch> make_plan(const Settings& settings, int ranks);

}  // namespace random_exchange
