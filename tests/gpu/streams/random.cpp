// Random exchanges in several streams and in graphs: every rank derives the same plan from the seed, which is printed.
//
//   mpi_streams_random [--seed N|random] [--exchanges N] [--graphs off]
#include <cstring>
#include <random>

#include "lane.hpp"

namespace streams {
namespace {

constexpr std::size_t kLanes = 3;
constexpr Word kPoison = 0x5A5A5A5Au;

enum class Form { kMessage, kBlockingOrder, kAnySource, kPersistent, kAllreduce };

struct Exchange {
  std::size_t lane;
  Form form;
  int shift;
  int tag;
  std::size_t words;
  bool strided;
  MemoryKind from, to;
  Word salt;
};

class Plan {
 public:
  Plan(unsigned seed, int ranks) : random_(seed), ranks_(ranks) {}
  std::size_t number(std::size_t below) { return std::uniform_int_distribution<std::size_t>(0, below - 1)(random_); }
  Exchange next(std::size_t lane, int tag) {
    Exchange made{};
    made.lane = lane;
    made.form = static_cast<Form>(number(5));
    made.shift = static_cast<int>(number(static_cast<std::size_t>(ranks_)));
    made.tag = tag;
    made.words = std::size_t{1} << number(number(8) == 0 ? 18 : 12);
    made.words = std::max<std::size_t>(2, (made.words + number(made.words)) & ~std::size_t{1});
    made.strided = number(4) == 0;
    made.from = hr::test::kAllKinds[number(std::size(hr::test::kAllKinds))];
    made.to = hr::test::kAllKinds[number(std::size(hr::test::kAllKinds))];
    made.salt = static_cast<Word>(number(1u << 30));
    return made;
  }

 private:
  std::mt19937 random_;
  int ranks_;
};

// One exchange with its buffers, which are allocated before anything is enqueued.
class Running {
 public:
  Running(const Exchange& what, const Lane& lane)
      : what_(what),
        lane_(lane),
        from_(what.words * sizeof(Word), what.from),
        to_(what.words * sizeof(Word), what.to),
        total_(what.words * sizeof(Word), MemoryKind::kDevice),
        unused_(what.words * sizeof(Word), MemoryKind::kDevice),
        wanted_total_(what.words, 0),
        to_rank_((lane.rank + what.shift) % lane.size),
        from_rank_((lane.rank + lane.size - what.shift) % lane.size) {
    for (Buffer* each : {&total_, &unused_}) each->put(std::vector<Word>(what.words, 0));
    renew();
    if (what.strided) {
      CHECK_OK(MPI_Type_vector(static_cast<int>(what.words / 2), 1, 2, MPI_UINT32_T, &type_));
      CHECK_OK(MPI_Type_commit(&type_));
    }
    if (what.form == Form::kPersistent) {
      CHECK_OK(MPI_Send_init(from_.get(), count(), type(), to_rank_, what.tag, lane.comm(), &requests_[0]));
      CHECK_OK(MPI_Recv_init(to_.get(), count(), type(), from_rank_, what.tag, lane.comm(), &requests_[1]));
      CHECK_OK(MPIX_Matchall(2, requests_));
    }
  }
  ~Running() {
    if (what_.form == Form::kPersistent) {
      for (MPI_Request& each : requests_) CHECK_OK(MPI_Request_free(&each));
    }
    if (type_ != MPI_UINT32_T) CHECK_OK(MPI_Type_free(&type_));
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void enqueue() {
    // A kernel overwrites the host's data with the data that is sent.
    if (what_.from != MemoryKind::kHost) lane_.fill(from_, first_of(lane_.rank), kSpins);
    exchange();
  }
  // Every launch of the graph sends values that are one greater, and adds what it has received to a total.
  void capture() {
    lane_.fill(unused_, 0, kSpins);
    exchange();
    if (what_.to != MemoryKind::kHost) lane_.step(total_, to_, unused_);
    if (what_.from == MemoryKind::kHost) return;
    lane_.fill(unused_, 0);
    lane_.step(unused_, unused_, from_);
  }

  // Prepares the next launches. Kernels cannot increase values in the host's memory, so these stay the same until the
  // next call. Nothing may be in progress.
  void renew() {
    to_.put(std::vector<Word>(what_.words, kPoison));
    if (launches_ != 0 && what_.from != MemoryKind::kHost) return;  // the last launch has increased them
    sent_ = launches_;
    from_.put(counting(what_.words, first_of(lane_.rank)));
  }
  void note_launch() {
    if (what_.from != MemoryKind::kHost) sent_ = launches_;
    ++launches_;
    if (what_.to == MemoryKind::kHost) return;
    const std::vector<Word> each = wanted();
    for (std::size_t i = 0; i < each.size(); ++i) wanted_total_[i] += each[i];
  }

  void check(const std::string& where) const { expect(to_.take<Word>(), wanted(), where + text()); }
  void check_total(const std::string& where) const {
    expect(total_.take<Word>(), wanted_total_, where + text() + ": the sum of all launches");
  }

 private:
  static constexpr unsigned kSpins = 20000;

  [[nodiscard]] std::string text() const {
    return ": form " + std::to_string(static_cast<int>(what_.form)) + ", " + std::to_string(what_.words) +
           " words from " + hr::test::name_of(what_.from) + " to " + hr::test::name_of(what_.to) + " memory" +
           (what_.strided ? ", strided" : "") + ", shift " + std::to_string(what_.shift);
  }

  void exchange() {
    const MPI_Comm comm = lane_.comm();
    switch (what_.form) {
      case Form::kMessage:
      case Form::kAnySource:
        CHECK_OK(MPIX_Irecv_enqueue(to_.get(), count(), type(),
                                    what_.form == Form::kAnySource ? MPI_ANY_SOURCE : from_rank_, what_.tag, comm,
                                    &requests_[0]));
        CHECK_OK(MPIX_Isend_enqueue(from_.get(), count(), type(), to_rank_, what_.tag, comm, &requests_[1]));
        CHECK_OK(MPIX_Waitall_enqueue(2, requests_, MPI_STATUSES_IGNORE));
        return;
      case Form::kBlockingOrder:
        CHECK_OK(MPIX_Isend_enqueue(from_.get(), count(), type(), to_rank_, what_.tag, comm, &requests_[0]));
        CHECK_OK(MPIX_Recv_enqueue(to_.get(), count(), type(), from_rank_, what_.tag, comm, MPI_STATUS_IGNORE));
        CHECK_OK(MPIX_Wait_enqueue(&requests_[0], MPI_STATUS_IGNORE));
        return;
      case Form::kPersistent:
        if (what_.salt % 2 == 0) {
          CHECK_OK(MPIX_Runall_enqueue(2, requests_, comm));
          return;
        }
        CHECK_OK(MPIX_Startall_enqueue(2, requests_, comm));
        CHECK_OK(MPIX_Waitall_enqueue(2, requests_, MPI_STATUSES_IGNORE));
        return;
      case Form::kAllreduce:
        CHECK_OK(
            MPIX_Allreduce_enqueue(from_.get(), to_.get(), static_cast<int>(what_.words), MPI_UINT32_T, MPI_SUM, comm));
        return;
    }
  }

  // Returns what the last launch has received.
  [[nodiscard]] std::vector<Word> wanted() const {
    std::vector<Word> wanted(what_.words, 0);
    if (what_.form == Form::kAllreduce) {
      for (int rank = 0; rank < lane_.size; ++rank) {
        for (std::size_t i = 0; i < what_.words; ++i) wanted[i] += first_of(rank) + static_cast<Word>(i);
      }
    } else {
      wanted = counting(what_.words, first_of(from_rank_));
      for (std::size_t i = 1; what_.strided && i < what_.words; i += 2) wanted[i] = kPoison;
    }
    return wanted;
  }

  [[nodiscard]] Word first_of(int rank) const {
    return what_.salt + static_cast<Word>(rank) * 65537u + static_cast<Word>(sent_);
  }
  [[nodiscard]] int count() const { return what_.strided ? 1 : static_cast<int>(what_.words); }
  [[nodiscard]] MPI_Datatype type() const { return type_; }

  Exchange what_;
  const Lane& lane_;
  Buffer from_, to_;
  Buffer total_, unused_;
  std::vector<Word> wanted_total_;
  int sent_ = 0;  // number of the launch whose values are sent
  int launches_ = 0;
  int to_rank_, from_rank_;
  MPI_Datatype type_ = MPI_UINT32_T;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

void run(const check::Environment& mpi, unsigned seed, int exchanges, bool graphs) {
  const Kernels kernels;
  Plan plan(seed, mpi.size);
  std::vector<std::unique_ptr<Lane>> lanes;
  lanes.push_back(std::make_unique<Lane>(kernels));
  lanes.push_back(std::make_unique<Lane>(kernels));
  lanes.push_back(std::make_unique<Lane>(kernels, Lane::Kind::kBlocking));
  for (int done = 0; done < exchanges;) {
    const bool in_graph = plan.number(3) == 0 && graphs;
    const int batch = 1 + static_cast<int>(plan.number(in_graph ? 6 : 30));
    const std::size_t only = plan.number(kLanes);
    const int launches = in_graph ? (plan.number(10) == 0 ? 100 : 1 + static_cast<int>(plan.number(4))) : 1;
    const int mode = static_cast<int>(plan.number(3));
    std::vector<std::unique_ptr<Running>> running;
    // A graph belongs to its communicator permanently.
    std::unique_ptr<Lane> own;
    if (in_graph) own = std::make_unique<Lane>(kernels);
    for (int i = 0; i < batch; ++i) {
      const Exchange what = plan.next(in_graph ? only : plan.number(kLanes), i);
      running.push_back(std::make_unique<Running>(what, in_graph ? *own : *lanes[what.lane]));
    }
    gpu::synchronize();
    const std::string where = "seed " + std::to_string(seed) + ", exchange " + std::to_string(done) +
                              (in_graph ? ", in a graph launched " + std::to_string(launches) + " times" : "");
    if (in_graph) {
      const Graph graph(*own, mode, [&] {
        for (const auto& each : running) each->capture();
      });
      for (int launch = 0; launch < launches;) {
        constexpr std::size_t kAhead = 8;  // more may fill the driver's queue, which the library's thread needs
        const int group = plan.number(4) == 0 ? 1 + static_cast<int>(plan.number(kAhead)) : 1;
        for (const auto& each : running) each->renew();
        gpu::synchronize();
        for (int i = 0; i < group && launch < launches; ++i, ++launch) {
          graph.launch();
          for (const auto& each : running) each->note_launch();
        }
        own->wait();
        for (const auto& each : running) each->check(where + ", launch " + std::to_string(launch));
      }
      for (const auto& each : running) each->check_total(where);
    } else {
      for (const auto& each : running) each->enqueue();
      for (const auto& each : lanes) each->wait();
      for (const auto& each : running) each->check(where);
    }
    done += batch * launches;
    running.clear();
  }
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_FUNNELED);
  unsigned seed = 1;
  int exchanges = 2000;
  bool graphs = true;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--seed") == 0) {
      seed = std::strcmp(argv[i + 1], "random") == 0 ? std::random_device()()
                                                     : static_cast<unsigned>(std::stoul(argv[i + 1]));
    }
    if (std::strcmp(argv[i], "--exchanges") == 0) exchanges = std::stoi(argv[i + 1]);
    if (std::strcmp(argv[i], "--graphs") == 0) graphs = std::strcmp(argv[i + 1], "off") != 0;
  }
  CHECK_OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED, 0, MPI_COMM_WORLD));
  if (!hr::test::select_device()) return 0;
  if (mpi.rank == 0) std::printf("seed %u\n", seed), std::fflush(stdout);
  streams::run(mpi, seed, exchanges, graphs);
  return 0;
}
