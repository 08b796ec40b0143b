// Long collectives on device buffers, which GPUs execute in parts: a broadcast that the others distribute, a gather in
// which the senders store, a reduction in which the root combines nothing. With every root, and lengths around the
// limits.
//
//   long_collectives [--bytes N]
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "mpi_memory.hpp"

namespace {

using hr::test::Buffer;
using hr::test::MemoryKind;
using Word = std::uint32_t;

Word value(int rank, std::size_t i) { return static_cast<Word>(i) * 2654435761U + static_cast<Word>(rank) * 40503U; }

std::vector<Word> content(int rank, std::size_t count) {
  std::vector<Word> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = value(rank, i);
  return made;
}

class Ranks {
 public:
  Ranks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  // `shift`: words before the data on odd ranks, so that the buffers are aligned differently.
  void bcast(std::size_t count, int root, std::size_t shift = 0) {
    const std::size_t before = rank_ % 2 == 0 ? 0 : shift;
    Buffer buffer((before + count) * sizeof(Word), MemoryKind::kDevice);
    std::vector<Word> expected(before + count, 0xdeadbeef);
    if (rank_ == root) std::ranges::copy(content(root, count), expected.begin() + static_cast<std::ptrdiff_t>(before));
    buffer.put(expected);
    std::ranges::copy(content(root, count), expected.begin() + static_cast<std::ptrdiff_t>(before));
    CHECK_OK(MPI_Bcast(static_cast<Word*>(buffer.get()) + before, static_cast<int>(count), MPI_UINT32_T, root,
                       MPI_COMM_WORLD));
    CHECK(buffer.take<Word>() == expected);
  }

  // One process receives into a layout with holes, so that the buffers do not fit a chain.
  void bcast_into_columns(std::size_t count, int root) {
    const bool columns = rank_ == (root + 1) % size_;
    MPI_Datatype type = MPI_UINT32_T;
    CHECK_OK(MPI_Type_create_resized(MPI_UINT32_T, 0, columns ? 8 : 4, &type));
    CHECK_OK(MPI_Type_commit(&type));
    const std::size_t step = columns ? 2 : 1;
    Buffer buffer(step * count * sizeof(Word), MemoryKind::kDevice);
    buffer.put(rank_ == root ? content(root, count) : std::vector<Word>(step * count, 0xdeadbeef));
    CHECK_OK(MPI_Bcast(buffer.get(), static_cast<int>(count), type, root, MPI_COMM_WORLD));
    const std::vector<Word> got = buffer.take<Word>();
    bool right = true;
    for (std::size_t i = 0; i < got.size(); ++i)
      right = right && got[i] == (i % step == 0 ? value(root, i / step) : 0xdeadbeef);
    CHECK(right);
    CHECK_OK(MPI_Type_free(&type));
  }

  void gather(std::size_t each, int root, bool in_place) {
    const std::size_t all = each * static_cast<std::size_t>(size_);
    Buffer send(each * sizeof(Word), MemoryKind::kDevice);
    Buffer receive(all * sizeof(Word), MemoryKind::kDevice);
    send.put(content(rank_, each));
    std::vector<Word> before(all, 0xdeadbeef);
    const bool own_in_place = in_place && rank_ == root;
    for (std::size_t i = 0; own_in_place && i < each; ++i)
      before[static_cast<std::size_t>(rank_) * each + i] = value(rank_, i);
    receive.put(before);
    CHECK_OK(MPI_Gather(own_in_place ? MPI_IN_PLACE : send.get(), static_cast<int>(each), MPI_UINT32_T, receive.get(),
                        static_cast<int>(each), MPI_UINT32_T, root, MPI_COMM_WORLD));
    const std::vector<Word> got = receive.take<Word>();
    if (rank_ != root) {
      CHECK(got == before);
      return;
    }
    bool right = true;
    for (std::size_t i = 0; i < all; ++i) right = right && got[i] == value(static_cast<int>(i / each), i % each);
    CHECK(right);
  }

  void reduce(std::size_t count, int root) {
    Buffer send(count * sizeof(Word), MemoryKind::kDevice);
    Buffer receive(count * sizeof(Word), MemoryKind::kDevice);
    send.put(content(rank_, count));
    const std::vector<Word> before(count, 0xdeadbeef);
    receive.put(before);
    CHECK_OK(
        MPI_Reduce(send.get(), receive.get(), static_cast<int>(count), MPI_UINT32_T, MPI_SUM, root, MPI_COMM_WORLD));
    const std::vector<Word> got = receive.take<Word>();
    if (rank_ != root) {
      CHECK(got == before);
      return;
    }
    bool right = true;
    for (std::size_t i = 0; i < count; ++i) {
      Word sum = 0;
      for (int rank = 0; rank < size_; ++rank) sum += value(rank, i);
      right = right && got[i] == sum;
    }
    CHECK(right);
  }

  [[nodiscard]] int size() const { return size_; }

 private:
  int rank_ = 0;
  int size_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t largest =
      argc > 2 && std::string(argv[1]) == "--bytes" ? std::strtoull(argv[2], nullptr, 10) : 9 << 20;
  check::Environment mpi(&argc, &argv, 2);
  if (!hr::test::select_device()) return 0;
  Ranks ranks;
  for (int root = 0; root < ranks.size(); ++root) {
    for (const std::size_t bytes :
         {std::size_t{2} << 20, (std::size_t{2} << 20) + 4, (std::size_t{5} << 20) - 12, largest})
      ranks.bcast(bytes / sizeof(Word), root);
    ranks.bcast((std::size_t{2} << 20) / sizeof(Word), root, 3);
    ranks.bcast_into_columns((std::size_t{3} << 20) / sizeof(Word), root);
    for (const std::size_t bytes : {(std::size_t{1} << 20) - 4, std::size_t{1} << 20, largest / 4 + 4})
      ranks.gather(bytes / sizeof(Word), root, bytes % 8 == 0);
    for (const std::size_t bytes : {(std::size_t{8} << 20) - 4, std::size_t{8} << 20, largest + 4})
      ranks.reduce(bytes / sizeof(Word), root);
  }
  return 0;
}
