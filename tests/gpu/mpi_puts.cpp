// Who moves a contiguous message between GPU memories: the sender's GPU while its program waits for the message, the
// receiver's otherwise; above all that a program which has started a send and computes keeps nobody waiting.
//
//   mpi_puts [--expect all|none|either] [--absent yes|no] [--seed N]: of messages whose senders wait, how many are put
//   (either: as it comes); whether messages arrive without their senders (not where memory cannot be mapped)
#include <random>

#include "../mpi/common/flags.hpp"
#include "mpi_memory.hpp"
#include "variable.hpp"

namespace {

using hr::test::Buffer;
using hr::test::content;
using hr::test::MemoryKind;

enum class Expect { kAll, kNone, kEither };

constexpr std::size_t kLong = std::size_t{2} << 20;

class Puts {
 public:
  Puts(const check::Environment& mpi, Expect expect, unsigned seed)
      : mpi_(mpi), expect_(expect), random_(seed), flags_(mpi), puts_("HEADRACE_CUDA_PUTS") {}

  // Rank 2n to rank 2n + 1; the receiver's rows lie at twice their length.
  void waiting_sender() {
    for (int round = 0; round < 12; ++round) {
      const std::size_t row = std::size_t{4} << random_below(8), rows = kLong / row + random_below(100);
      const bool strided = round % 3 == 1 && row >= 128;
      MPI_Datatype type = MPI_DATATYPE_NULL;
      CHECK_OK(MPI_Type_vector(static_cast<int>(rows), static_cast<int>(row), static_cast<int>(strided ? 2 * row : row),
                               MPI_BYTE, &type));
      CHECK_OK(MPI_Type_commit(&type));
      const std::vector<std::byte> sent = content(rows * row, static_cast<unsigned>(round));
      Buffer buffer(rows * row * 2, MemoryKind::kDevice);
      puts_.take();
      if (sends()) {
        buffer.write(sent);
        CHECK_OK(MPI_Send(buffer.get(), static_cast<int>(sent.size()), MPI_BYTE, partner(), 0, MPI_COMM_WORLD));
        expect_puts(1, "MPI_Send");
      } else if (receives()) {
        buffer.put(std::vector<unsigned char>(buffer.size(), 0xee));
        CHECK_OK(MPI_Recv(buffer.get(), 1, type, partner(), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        check_rows(buffer.read(), sent, row, strided ? 2 * row : row);
      }
      CHECK_OK(MPI_Type_free(&type));
    }
  }

  // Both ranks of a pair send and receive many at a time, and wait for all of it.
  void both_ways() {
    constexpr int kMessages = 70;  // more than can be offered at a time
    if (partner() == MPI_PROC_NULL) return;
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{65536}, std::size_t{1} << 20}) {
      Buffer out(bytes * kMessages, MemoryKind::kDevice), in(bytes * kMessages, MemoryKind::kDevice);
      out.write(content(out.size(), static_cast<unsigned>(mpi_.rank)));
      in.put(std::vector<unsigned char>(in.size(), 0xee));
      std::vector<MPI_Request> requests;
      for (int i = 0; i < kMessages; ++i) {
        const std::size_t at = bytes * static_cast<std::size_t>(i);
        CHECK_OK(MPI_Irecv(in.bytes() + at, static_cast<int>(bytes), MPI_BYTE, partner(), i, MPI_COMM_WORLD,
                           &requests.emplace_back()));
        CHECK_OK(MPI_Isend(out.bytes() + at, static_cast<int>(bytes), MPI_BYTE, partner(), i, MPI_COMM_WORLD,
                           &requests.emplace_back()));
      }
      puts_.take();
      CHECK_OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
      const unsigned long long puts = puts_.take();
      if (expect_ == Expect::kNone) CHECK_EQ(puts, 0ULL);
      std::printf("rank %d: %llu of %d messages of %zu bytes were put\n", mpi_.rank, puts, kMessages, bytes);
      CHECK(in.read() == content(in.size(), static_cast<unsigned>(partner())));
    }
  }

  // The sender starts its sends, perhaps receives something else, and is out of the library until all have arrived.
  void absent_sender() {
    for (int round = 0; round < 8; ++round) {
      const std::size_t bytes = round % 2 == 0 ? kLong : 1 + random_below(100000);
      constexpr int kMessages = 3;
      Buffer buffer(bytes * kMessages, MemoryKind::kDevice);
      const std::vector<std::byte> sent = content(buffer.size(), static_cast<unsigned>(round));
      int word = 0;
      if (sends()) {
        buffer.write(sent);
        MPI_Request requests[kMessages];
        for (int i = 0; i < kMessages; ++i) {
          CHECK_OK(MPI_Isend(buffer.bytes() + bytes * static_cast<std::size_t>(i), static_cast<int>(bytes), MPI_BYTE,
                             partner(), i, MPI_COMM_WORLD, &requests[i]));
        }
        if (round % 4 < 2) CHECK_OK(MPI_Recv(&word, 1, MPI_INT, partner(), 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        flags_.await(partner(), round + 1);
        CHECK_OK(MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE));
      } else if (receives()) {
        buffer.put(std::vector<unsigned char>(buffer.size(), 0xee));
        MPI_Request requests[kMessages];
        for (int i = 0; i < kMessages; ++i) {
          CHECK_OK(MPI_Irecv(buffer.bytes() + bytes * static_cast<std::size_t>(i), static_cast<int>(bytes), MPI_BYTE,
                             partner(), i, MPI_COMM_WORLD, &requests[i]));
        }
        if (round % 4 < 2) {
          // The offers have been made, most likely, before the sender's program leaves the library.
          CHECK_OK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
          CHECK_OK(MPI_Send(&word, 1, MPI_INT, partner(), 9, MPI_COMM_WORLD));
        }
        CHECK_OK(MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE));
        flags_.set(round + 1);
        CHECK(buffer.read() == sent);
      }
    }
  }

 private:
  [[nodiscard]] bool sends() const { return mpi_.rank % 2 == 0 && partner() != MPI_PROC_NULL; }
  [[nodiscard]] bool receives() const { return mpi_.rank % 2 == 1; }
  [[nodiscard]] int partner() const {
    const int other = mpi_.rank ^ 1;
    return other < mpi_.size ? other : MPI_PROC_NULL;
  }
  std::size_t random_below(std::size_t end) { return std::uniform_int_distribution<std::size_t>(0, end - 1)(random_); }

  void expect_puts(unsigned long long wanted, const char* what) {
    const unsigned long long found = puts_.take();
    if (expect_ == Expect::kEither || found == (expect_ == Expect::kAll ? wanted : 0)) return;
    check::fail(__FILE__, __LINE__, std::string(what) + ": " + std::to_string(found) + " messages were put");
  }
  static void check_rows(const std::vector<std::byte>& found, const std::vector<std::byte>& sent, std::size_t row,
                         std::size_t distance) {
    for (std::size_t i = 0; i < found.size(); ++i) {
      const bool inside = i % distance < row && i / distance * row + i % distance < sent.size();
      const std::byte expected = inside ? sent[i / distance * row + i % distance] : std::byte{0xee};
      if (found[i] != expected) check::fail(__FILE__, __LINE__, "byte " + std::to_string(i) + " is wrong");
    }
  }

  const check::Environment& mpi_;
  const Expect expect_;
  std::mt19937 random_;
  check::Flags flags_;
  hr::test::Variable puts_;
};

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) {
    if (mpi.rank == 0) std::printf("skipped: no CUDA device\n");
    return 0;
  }
  Expect expect = Expect::kAll;
  unsigned seed = 1;
  bool absent = true;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i], value = argv[i + 1];
    if (option == "--expect")
      expect = value == "all" ? Expect::kAll : value == "none" ? Expect::kNone : Expect::kEither;
    if (option == "--absent") absent = value == "yes";
    if (option == "--seed") seed = static_cast<unsigned>(std::stoul(value));
  }
  if (mpi.rank == 0) std::printf("seed %u\n", seed);
  Puts puts(mpi, expect, seed);
  puts.waiting_sender();
  puts.both_ways();
  if (absent) puts.absent_sender();
  return 0;
}
