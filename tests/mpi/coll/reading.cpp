// Operations of one kind and length, one after the other and more often than the trials of reading one another's
// buffers are apart (512), so that members go through slots and by reading, and decide, twice. Programs that write
// their buffers before each operation and programs that do not, members that come late, other operations between, and
// members whose data cannot be read as one run of memory, in the operations that decide and in others. Every element is
// checked, and that both ways were taken.
#include <algorithm>
#include <cstdio>

#include "coll_test.hpp"
#include "gpu/variable.hpp"

using namespace coll_test;

namespace {

enum class Kind { kBcast, kAllgather, kAlltoall, kReduce, kAllreduce };
constexpr const char* kNames[] = {"bcast", "allgather", "alltoall", "reduce", "allreduce"};

int item(int round, int from, int to, std::size_t i) {
  return round % 977 + 7 * from + 13 * to + static_cast<int>(i % 1009);
}

class Stream {
 public:
  Stream(Kind kind, const check::Environment& mpi, std::size_t block)
      : kind_(kind),
        rank_(mpi.rank),
        size_(mpi.size),
        block_(block),
        send_(block * static_cast<std::size_t>(mpi.size)),
        recv_(send_.size()) {
    CHECK_OK(MPI_Type_vector(static_cast<int>(block), 1, 2, MPI_INT, &apart_));
    CHECK_OK(MPI_Type_commit(&apart_));
    spread_.resize(2 * block);
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm_));  // trials begin anew
  }
  ~Stream() {
    MPI_Type_free(&apart_);
    MPI_Comm_free(&comm_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // `fresh`: the data is written before; else it is what round `data` gave it. `scattered`: this member's
  // contribution has holes.
  void once(Form form, int data, int root, bool fresh, bool scattered) {
    if (fresh) fill(data, root);
    std::fill(recv_.begin(), recv_.end(), kPoison);
    if (kind_ == Kind::kBcast && rank_ == root) std::copy_n(send_.begin(), block_, recv_.begin());
    if (scattered) {
      std::fill(spread_.begin(), spread_.end(), kPoison);
      for (std::size_t i = 0; i < block_; ++i) spread_[2 * i] = send_[i];
    }
    call(form, root, scattered);
    verify(data, root);
  }

 private:
  void fill(int data, int root) {
    const bool sends = kind_ != Kind::kBcast || rank_ == root;
    for (std::size_t i = 0; sends && i < send_.size(); ++i) {
      const auto to = kind_ == Kind::kAlltoall ? static_cast<int>(i / block_) : 0;
      send_[i] = item(data, rank_, to, i % block_);
    }
  }

  void call(Form form, int root, bool scattered) {
    const auto count = static_cast<int>(block_);
    const void* const send = scattered ? spread_.data() : send_.data();
    const MPI_Datatype type = scattered ? apart_ : MPI_INT;
    const int elements = scattered ? 1 : count;
    switch (kind_) {
      case Kind::kBcast:
        return CARRY_OUT(form, B, b, cast, static_cast<void*>(recv_.data()), count, MPI_INT, root, comm_);
      case Kind::kAllgather:
        return CARRY_OUT(form, A, a, llgather, send, elements, type, static_cast<void*>(recv_.data()), count, MPI_INT,
                         comm_);
      case Kind::kAlltoall:
        return CARRY_OUT(form, A, a, lltoall, static_cast<const void*>(send_.data()), count, MPI_INT,
                         static_cast<void*>(recv_.data()), count, MPI_INT, comm_);
      case Kind::kReduce:
        return CARRY_OUT(form, R, r, educe, static_cast<const void*>(send_.data()), static_cast<void*>(recv_.data()),
                         count, MPI_INT, MPI_SUM, root, comm_);
      case Kind::kAllreduce:
        return CARRY_OUT(form, A, a, llreduce, static_cast<const void*>(send_.data()), static_cast<void*>(recv_.data()),
                         count, MPI_INT, MPI_SUM, comm_);
    }
  }

  [[nodiscard]] int expected(int data, int root, std::size_t i) const {
    const auto from = static_cast<int>(i / block_);
    switch (kind_) {
      case Kind::kBcast:
        return i < block_ ? item(data, root, 0, i) : kPoison;
      case Kind::kAllgather:
        return item(data, from, 0, i % block_);
      case Kind::kAlltoall:
        return item(data, from, rank_, i % block_);
      case Kind::kReduce:
      case Kind::kAllreduce:
        break;
    }
    if (i >= block_ || (kind_ == Kind::kReduce && rank_ != root)) return kPoison;
    return size_ * item(data, 0, 0, i) + 7 * (size_ * (size_ - 1) / 2);
  }

  void verify(int data, int root) const {
    for (std::size_t i = 0; i < recv_.size(); ++i) {
      if (recv_[i] == expected(data, root, i)) continue;
      std::fprintf(stderr, "rank %d: %s of %zu integers a block, data of round %d, root %d: element %zu\n", rank_,
                   kNames[static_cast<int>(kind_)], block_, data, root, i);
      CHECK_EQ(recv_[i], expected(data, root, i));
    }
  }

  Kind kind_;
  int rank_, size_;
  std::size_t block_;
  std::vector<int> send_, recv_, spread_;
  MPI_Datatype apart_ = MPI_DATATYPE_NULL;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

void late(int microseconds) {
  const double until = MPI_Wtime() + 1e-6 * microseconds;
  while (MPI_Wtime() < until) {
  }
}

// Trials of short ones are 17 operations, of which the last decides.
constexpr int kRounds = 540, kDecides = 16, kAgain = 512;

// `bytes`: of a block. How often processes read.
unsigned long long run(Kind kind, const check::Environment& mpi, std::size_t bytes, bool scatters, Choices& choices) {
  Stream stream(kind, mpi, bytes / sizeof(int));
  hr::test::Variable reads("HEADRACE_COLL_READ");
  std::mt19937 own(static_cast<unsigned>(choices.below(1000) + mpi.rank));
  int data = 0, root = 0;
  bool touches = true;
  for (int round = 0; round < kRounds; ++round) {
    if (round % 37 == 0) touches = choices.flip();  // the program changes
    const bool fresh = round == 0 || touches;
    if (fresh) {
      data = round;
      root = choices.below(mpi.size);
    }
    const Form form = choices.below(8) == 0 ? Form::kNonblocking : Form::kBlocking;
    const bool deciding = round % kAgain == kDecides;
    const bool scattered = scatters && (deciding || choices.below(20) == 0) && own() % 2 == 0;
    if (own() % 64 == 0) late(100);
    if (choices.below(16) == 0) CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    stream.once(form, data, root, fresh, scattered);
  }
  const unsigned long long count = reads.value();
  if (mpi.rank == 0) {
    std::printf("%s, blocks of %zu bytes: %llu of %d by reading\n", kNames[static_cast<int>(kind)], bytes, count,
                kRounds);
  }
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  Choices choices;
  const bool readable = can_be_read(mpi);
  for (const Kind kind : {Kind::kBcast, Kind::kAllgather, Kind::kAlltoall, Kind::kReduce, Kind::kAllreduce}) {
    const std::size_t bytes = kind == Kind::kAllreduce ? 600000 : 20000;
    const unsigned long long reads = run(kind, mpi, bytes, false, choices);
    // Alltoalls are tried by reading wherever there are three processes and more, whatever the machine is like.
    if (kind == Kind::kAlltoall && mpi.size > 2 && readable) CHECK(reads >= 2 * (kDecides / 2 + 1));
    CHECK(reads <= kRounds - 2 * (kDecides / 2));
  }
  run(Kind::kAllgather, mpi, 20000, true, choices);
  return 0;
}
