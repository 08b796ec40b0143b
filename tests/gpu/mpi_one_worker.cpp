// Collectives on long buffers by ranks that share devices: every element of every rank's result, and that
// the devices execute all of them. test_one_worker.py counts the kernels that each rank launches.
//
//   mpi_one_worker [all] [--rounds N] [--seed N] [--holes 0] [--short nothing|host]
//
// --holes 0: no rank receives into a layout with holes, which no other rank can fill. --short: vectors of a few words
// only, which go through pinned memory; with host, others in host memory come before them, and between the rounds.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "mpi_memory.hpp"
#include "variable.hpp"
#include "words.hpp"

namespace {

using hr::test::Buffer;
using hr::test::kPoison;
using hr::test::MemoryKind;
using hr::test::value;
using hr::test::Word;
using hr::test::Words;

constexpr std::size_t kGuard = 16;  // words on both sides of the data

Words content(int rank, std::size_t count) { return hr::test::sum(rank, rank + 1, 0, count); }
// Sum of the contributions of the ranks [0, ranks).
Words sum(int ranks, std::size_t count) { return hr::test::sum(0, ranks, 0, count); }

Words part(const Words& all, std::size_t first, std::size_t count) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
  return {begin, begin + static_cast<std::ptrdiff_t>(count)};
}

// A vector in device memory between guards.
class Vector {
 public:
  explicit Vector(const Words& words)
      : count_(words.size()), buffer_((words.size() + 2 * kGuard) * sizeof(Word), MemoryKind::kDevice) {
    buffer_.put(framed(words));
  }
  [[nodiscard]] void* get() const { return static_cast<Word*>(buffer_.get()) + kGuard; }
  void expect(const Words& words, const std::string& what) const {
    if (buffer_.take<Word>() != framed(words)) check::fail(__FILE__, __LINE__, "the result of " + what + " is wrong");
  }

 private:
  [[nodiscard]] Words framed(const Words& words) const {
    Words all(count_ + 2 * kGuard, kPoison);
    std::ranges::copy(words, all.begin() + kGuard);
    return all;
  }

  std::size_t count_;
  Buffer buffer_;
};

Words poison(std::size_t count) { return Words(count, kPoison); }

void host_sum(int ranks) {
  int one = 1, sum = 0;
  CHECK_OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum, ranks);
}

class Ranks {
 public:
  Ranks(const check::Environment& mpi, bool holes) : rank_(mpi.rank), size_(mpi.size), holes_(holes) {}

  void allreduce(std::size_t count, bool in_place) const {
    const Vector send(content(rank_, count)), receive(in_place ? content(rank_, count) : poison(count));
    CHECK_OK(MPI_Allreduce(in_place ? MPI_IN_PLACE : send.get(), receive.get(), static_cast<int>(count), MPI_UINT32_T,
                           MPI_SUM, MPI_COMM_WORLD));
    send.expect(content(rank_, count), "allreduce (its operand)");
    receive.expect(sum(size_, count), "allreduce");
  }

  void reduce(std::size_t count, int root) const {
    const Vector send(content(rank_, count)), receive(poison(count));
    CHECK_OK(
        MPI_Reduce(send.get(), receive.get(), static_cast<int>(count), MPI_UINT32_T, MPI_SUM, root, MPI_COMM_WORLD));
    receive.expect(rank_ == root ? sum(size_, count) : poison(count), "reduce to rank " + std::to_string(root));
  }

  // One rank receives nothing.
  void reduce_scatter(std::size_t each) const {
    std::vector<int> counts;
    std::size_t first = 0, all = 0;
    for (int rank = 0; rank < size_; ++rank) {
      counts.push_back(rank == 1 ? 0 : static_cast<int>(each) + rank);
      if (rank < rank_) first += static_cast<std::size_t>(counts.back());
      all += static_cast<std::size_t>(counts.back());
    }
    const auto mine = static_cast<std::size_t>(counts[static_cast<std::size_t>(rank_)]);
    const Vector send(content(rank_, all)), receive(poison(mine));
    CHECK_OK(MPI_Reduce_scatter(send.get(), receive.get(), counts.data(), MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD));
    receive.expect(part(sum(size_, all), first, mine), "reduce_scatter");
  }

  void reduce_scatter_block(std::size_t each) const {
    const std::size_t all = each * static_cast<std::size_t>(size_);
    const Vector send(content(rank_, all)), receive(poison(each));
    CHECK_OK(MPI_Reduce_scatter_block(send.get(), receive.get(), static_cast<int>(each), MPI_UINT32_T, MPI_SUM,
                                      MPI_COMM_WORLD));
    receive.expect(part(sum(size_, all), static_cast<std::size_t>(rank_) * each, each), "reduce_scatter_block");
  }

  void scan(std::size_t count) const {
    const Vector send(content(rank_, count)), receive(poison(count)), before(poison(count));
    CHECK_OK(MPI_Scan(send.get(), receive.get(), static_cast<int>(count), MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD));
    receive.expect(sum(rank_ + 1, count), "scan");
    CHECK_OK(MPI_Exscan(send.get(), before.get(), static_cast<int>(count), MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD));
    if (rank_ > 0) before.expect(sum(rank_, count), "exscan");
  }

  void bcast(std::size_t count, int root) const {
    const Vector buffer(rank_ == root ? content(root, count) : poison(count));
    CHECK_OK(MPI_Bcast(buffer.get(), static_cast<int>(count), MPI_UINT32_T, root, MPI_COMM_WORLD));
    buffer.expect(content(root, count), "bcast from rank " + std::to_string(root));
  }

  void allgather(std::size_t each, bool in_place) const {
    Words wanted;
    for (int rank = 0; rank < size_; ++rank) std::ranges::copy(content(rank, each), std::back_inserter(wanted));
    Words before(wanted.size(), kPoison);
    if (in_place) std::ranges::copy(content(rank_, each), before.begin() + static_cast<std::ptrdiff_t>(each) * rank_);
    const Vector send(content(rank_, each)), receive(before);
    const int count = static_cast<int>(each);
    CHECK_OK(MPI_Allgather(in_place ? MPI_IN_PLACE : send.get(), count, MPI_UINT32_T, receive.get(), count,
                           MPI_UINT32_T, MPI_COMM_WORLD));
    receive.expect(wanted, "allgather");
  }

  void alltoall(std::size_t each) const {
    const std::size_t all = each * static_cast<std::size_t>(size_);
    Words wanted;
    for (int rank = 0; rank < size_; ++rank) {
      std::ranges::copy(part(content(rank, all), each * static_cast<std::size_t>(rank_), each),
                        std::back_inserter(wanted));
    }
    const Vector send(content(rank_, all)), receive(poison(all));
    const int count = static_cast<int>(each);
    CHECK_OK(MPI_Alltoall(send.get(), count, MPI_UINT32_T, receive.get(), count, MPI_UINT32_T, MPI_COMM_WORLD));
    receive.expect(wanted, "alltoall");
  }

  // `in_place`: at the root.
  void gather(std::size_t each, int root, bool in_place) const {
    Words wanted;
    for (int rank = 0; rank < size_; ++rank) std::ranges::copy(content(rank, each), std::back_inserter(wanted));
    Words before(wanted.size(), kPoison);
    const bool own_in_place = in_place && rank_ == root;
    if (own_in_place) {
      std::ranges::copy(content(rank_, each), before.begin() + static_cast<std::ptrdiff_t>(each) * rank_);
    }
    const Vector send(content(rank_, each)), receive(before);
    const int count = static_cast<int>(each);
    CHECK_OK(MPI_Gather(own_in_place ? MPI_IN_PLACE : send.get(), count, MPI_UINT32_T, receive.get(), count,
                        MPI_UINT32_T, root, MPI_COMM_WORLD));
    receive.expect(rank_ == root ? wanted : before, "gather to rank " + std::to_string(root));
  }

  // The odd ranks receive into a layout with holes.
  void scatter(std::size_t each, int root, bool in_place) const {
    const std::size_t all = each * static_cast<std::size_t>(size_), step = holes_ && rank_ % 2 == 1 ? 2 : 1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    CHECK_OK(MPI_Type_create_resized(MPI_UINT32_T, 0, static_cast<MPI_Aint>(step * sizeof(Word)), &type));
    CHECK_OK(MPI_Type_commit(&type));
    const bool own_in_place = in_place && rank_ == root;
    const Vector send(content(root, all)), receive(poison(step * each));
    const int count = static_cast<int>(each);
    CHECK_OK(MPI_Scatter(send.get(), count, MPI_UINT32_T, own_in_place ? MPI_IN_PLACE : receive.get(), count, type,
                         root, MPI_COMM_WORLD));
    CHECK_OK(MPI_Type_free(&type));
    Words wanted = poison(step * each);
    for (std::size_t i = 0; i < each && !own_in_place; ++i) {
      wanted[step * i] = value(root, each * static_cast<std::size_t>(rank_) + i);
    }
    receive.expect(wanted, "scatter from rank " + std::to_string(root));
    send.expect(content(root, all), "scatter (its operand)");
  }

  static constexpr unsigned kOperations = 15;
  void all(std::mt19937_64& numbers) const {
    constexpr std::size_t kLong = 70'000, kSpread = 30'000;  // 256 KiB are 65,536 words
    const auto count = [&] { return kLong + numbers() % kSpread; };
    const auto root = [&] { return static_cast<int>(numbers() % static_cast<unsigned>(size_)); };
    allreduce(count(), false);
    allreduce(count(), true);
    reduce(count(), root());
    reduce_scatter(count());
    reduce_scatter_block(count());
    scan(count());
    bcast(4 * count() + 64 * 1024 * static_cast<std::size_t>(size_), root());
    allgather(count(), false);
    allgather(count(), true);
    alltoall(count());
    for (const bool in_place : {false, true}) {
      gather(count(), root(), in_place);
      scatter(count(), root(), in_place);
    }
  }

  void all_short() const {
    allreduce(2, false);
    allreduce(3, true);
    reduce(2, size_ - 1);
    reduce_scatter_block(1);
    scan(2);
    bcast(2, 0);
    allgather(2, false);
    alltoall(1);
  }

 private:
  int rank_, size_;
  bool holes_;
};

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  std::uint64_t seed = 1;
  int rounds = 3;
  bool holes = true;
  std::string brief;
  for (int option = argc > 1 && std::string(argv[1]) == "all" ? 2 : 1; option + 1 < argc; option += 2) {
    const std::string name = argv[option], value = argv[option + 1];
    if (name == "--seed") {
      seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--rounds") {
      rounds = std::atoi(value.c_str());
    } else if (name == "--holes") {
      holes = value != "0";
    } else if (name == "--short") {
      brief = value;
    } else {
      check::fail(__FILE__, __LINE__, "unknown option " + name);
    }
  }
  if (mpi.rank == 0) std::printf("one_worker: seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 numbers(seed);  // the same seed on all ranks
  const Ranks ranks(mpi, holes);
  for (int i = 0; brief == "host" && i < 20; ++i) host_sum(mpi.size);
  for (int round = 0; !brief.empty() && round < rounds; ++round) {
    ranks.all_short();
    for (int i = 0; brief == "host" && i < 10; ++i) host_sum(mpi.size);
  }
  if (!brief.empty()) return 0;
  hr::test::Variable by_devices("HEADRACE_COLL_DEVICE");
  for (int i = 0; i < 6; ++i) ranks.allreduce(70'000, false);  // until all have agreed to use their GPUs
  for (int round = 0; round < rounds; ++round) {
    by_devices.take();
    ranks.all(numbers);
    CHECK(by_devices.take() == Ranks::kOperations);
  }
  return 0;
}
