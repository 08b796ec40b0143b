// Collectives in which each process may decide to be in place, and where its data is: scan, exscan, reduce_scatter and
// reduce_scatter_block with random choices per rank, every element checked.
//
//   mpi_in_place [--seed N] [--rounds N]
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "mpi_memory.hpp"
#include "words.hpp"

namespace {

using hr::test::Buffer;
using hr::test::kPoison;
using hr::test::MemoryKind;
using hr::test::sum;
using hr::test::Word;
using hr::test::Words;

// The buffers of one rank in one operation. The numbers differ between the ranks.
struct Buffers {
  Buffers(std::mt19937_64& own, int rank, std::size_t sent, std::size_t received)
      : in_place(own() % 2 == 0),
        kind(own() % 4 == 0 ? MemoryKind::kHost : MemoryKind::kDevice),
        send(std::max<std::size_t>(sent, 1) * sizeof(Word), kind),
        receive(std::max<std::size_t>({in_place ? sent : received, 1}) * sizeof(Word), kind) {
    Words operand = sum(rank, rank + 1, 0, std::max<std::size_t>(sent, 1));
    send.put(operand);
    receive.put(in_place ? operand : Words(std::max<std::size_t>(received, 1), kPoison));
  }
  [[nodiscard]] const void* operand() const { return in_place ? MPI_IN_PLACE : send.get(); }
  void expect(const Words& words, const std::string& what) const {
    const Words got = receive.take<Word>();
    if (!std::equal(words.begin(), words.end(), got.begin())) {
      check::fail(__FILE__, __LINE__, "the result of " + what + (in_place ? ", in place," : "") + " is wrong");
    }
  }
  bool in_place;
  MemoryKind kind;
  Buffer send, receive;
};

void scans(const check::Environment& mpi, std::mt19937_64& own, std::size_t count) {
  const int n = static_cast<int>(count);
  const Buffers inclusive(own, mpi.rank, count, count);
  CHECK_OK(MPI_Scan(inclusive.operand(), inclusive.receive.get(), n, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD));
  inclusive.expect(sum(0, mpi.rank + 1, 0, count), "scan");
  const Buffers exclusive(own, mpi.rank, count, count);
  CHECK_OK(MPI_Exscan(exclusive.operand(), exclusive.receive.get(), n, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD));
  if (mpi.rank > 0) exclusive.expect(sum(0, mpi.rank, 0, count), "exscan");
}

void reduce_scatters(const check::Environment& mpi, std::mt19937_64& own, std::size_t each) {
  const std::size_t all = each * static_cast<std::size_t>(mpi.size);
  const Buffers blocks(own, mpi.rank, all, each);
  CHECK_OK(MPI_Reduce_scatter_block(blocks.operand(), blocks.receive.get(), static_cast<int>(each), MPI_UINT32_T,
                                    MPI_SUM, MPI_COMM_WORLD));
  blocks.expect(sum(0, mpi.size, each * static_cast<std::size_t>(mpi.rank), each), "reduce_scatter_block");
  // Rank 1 receives nothing.
  std::vector<int> counts(static_cast<std::size_t>(mpi.size), static_cast<int>(each));
  if (mpi.size > 1) counts[1] = 0;
  const auto before = std::accumulate(counts.begin(), counts.begin() + mpi.rank, std::size_t{0});
  const auto total = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  const auto mine = static_cast<std::size_t>(counts[static_cast<std::size_t>(mpi.rank)]);
  const Buffers parts(own, mpi.rank, total, mine);
  CHECK_OK(
      MPI_Reduce_scatter(parts.operand(), parts.receive.get(), counts.data(), MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD));
  parts.expect(sum(0, mpi.size, before, mine), "reduce_scatter");
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  std::uint64_t seed = 1;
  int rounds = 12;
  for (int option = 1; option + 1 < argc; option += 2) {
    const std::string name = argv[option];
    if (name == "--seed") seed = std::strtoull(argv[option + 1], nullptr, 10);
    if (name == "--rounds") rounds = std::atoi(argv[option + 1]);
  }
  if (mpi.rank == 0) std::printf("in_place: seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 common(seed);
  std::mt19937_64 own(seed * 1000 + static_cast<std::uint64_t>(mpi.rank));
  for (int round = 0; round < rounds; ++round) {
    constexpr std::size_t kLengths[] = {1, 100, 3000, 70'000};
    const std::size_t count = kLengths[common() % std::size(kLengths)] + common() % 7;
    scans(mpi, own, count);
    reduce_scatters(mpi, own, count);
  }
  return 0;
}
