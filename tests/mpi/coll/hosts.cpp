// Collectives that are composed of parts within and between hosts, if the ranks are on several (mpiexec --as-hosts).
// Tests every operation that has a composition, with every root: blocking, non-blocking and several at once, in place,
// short and long. One communicator has ranks in blocks of hosts, one has ranks round robin over hosts, and one has a
// host with a single process. Every element is checked.
#include <algorithm>

#include "coll_test.hpp"

using namespace coll_test;

namespace {

using Ints = std::vector<int>;

int item(int round, int rank, int i) { return round * 7919 + rank * 104729 + i % 1013; }

Ints filled(int round, int rank, int count) {
  Ints made(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) made[static_cast<std::size_t>(i)] = item(round, rank, i);
  return made;
}

// Returns all ranks' blocks.
Ints all_of(int round, int size, int count) {
  Ints made;
  for (int rank = 0; rank < size; ++rank) {
    const Ints block = filled(round, rank, count);
    made.insert(made.end(), block.begin(), block.end());
  }
  return made;
}

Ints sums(int round, int size, int count) {
  Ints made(static_cast<std::size_t>(count), 0);
  for (int rank = 0; rank < size; ++rank) {
    for (int i = 0; i < count; ++i) made[static_cast<std::size_t>(i)] += item(round, rank, i);
  }
  return made;
}

// Joins runs of ranks, each stored as first * 1000 + last: associative; the result is 0 if two runs are not adjacent.
void join(void* in, void* inout, int* length, MPI_Datatype*) {
  const auto* left = static_cast<int*>(in);
  auto* right = static_cast<int*>(inout);
  for (int i = 0; i < *length; ++i) {
    const bool meet = left[i] != 0 && right[i] != 0 && left[i] % 1000 + 1 == right[i] / 1000;
    right[i] = meet ? left[i] / 1000 * 1000 + right[i] % 1000 : 0;
  }
}

struct Trial {
  int round;
  int root;
  int count;
  bool in_place;
  Form form;
};

void movements(const Where& w, const Trial& t) {
  const auto count = static_cast<std::size_t>(t.count);
  const auto size = static_cast<std::size_t>(w.size);
  const Ints own = filled(t.round, w.rank, t.count);
  const Ints all = all_of(t.round, w.size, t.count);

  Ints data = w.rank == t.root ? own : Ints(count, kPoison);
  EXECUTE(t.form, B, b, cast, data.data(), t.count, MPI_INT, t.root, w.comm);
  CHECK(data == filled(t.round, t.root, t.count));

  Ints gathered(count * size, kPoison);
  const bool here = t.in_place && w.rank == t.root;
  if (here) std::copy(own.begin(), own.end(), gathered.begin() + w.rank * t.count);
  EXECUTE(t.form, G, g, ather, here ? MPI_IN_PLACE : own.data(), t.count, MPI_INT, gathered.data(), t.count, MPI_INT,
          t.root, w.comm);
  CHECK(gathered == (w.rank == t.root ? all : Ints(count * size, kPoison)));

  std::fill(gathered.begin(), gathered.end(), kPoison);
  if (t.in_place) std::copy(own.begin(), own.end(), gathered.begin() + w.rank * t.count);
  EXECUTE(t.form, A, a, llgather, t.in_place ? MPI_IN_PLACE : own.data(), t.count, MPI_INT, gathered.data(), t.count,
          MPI_INT, w.comm);
  CHECK(gathered == all);
}

void reductions(const Where& w, const Trial& t, MPI_Op joining) {
  const auto count = static_cast<std::size_t>(t.count);
  const Ints own = filled(t.round, w.rank, t.count);
  const Ints wanted = sums(t.round, w.size, t.count);

  Ints result = t.in_place ? own : Ints(count, kPoison);
  EXECUTE(t.form, A, a, llreduce, t.in_place ? MPI_IN_PLACE : own.data(), result.data(), t.count, MPI_INT, MPI_SUM,
          w.comm);
  CHECK(result == wanted);

  const bool here = t.in_place && w.rank == t.root;
  result = here ? own : Ints(count, kPoison);
  EXECUTE(t.form, R, r, educe, here ? MPI_IN_PLACE : own.data(), result.data(), t.count, MPI_INT, MPI_SUM, t.root,
          w.comm);
  CHECK(result == (w.rank == t.root ? wanted : Ints(count, kPoison)));

  // The reduction is in rank order.
  const Ints run(count, (w.rank + 1) * 1000 + w.rank + 1);
  const Ints whole(count, 1000 + w.size);
  std::fill(result.begin(), result.end(), kPoison);
  EXECUTE(t.form, A, a, llreduce, run.data(), result.data(), t.count, MPI_INT, joining, w.comm);
  CHECK(result == whole);
  std::fill(result.begin(), result.end(), kPoison);
  EXECUTE(t.form, R, r, educe, run.data(), result.data(), t.count, MPI_INT, joining, t.root, w.comm);
  if (w.rank == t.root) CHECK(result == whole);
}

// No rank leaves before all have entered.
void barriers(const Where& w, int round) {
  const int late = round % w.size;
  if (w.rank == late) {
    const double until = MPI_Wtime() + 2e-3;
    while (MPI_Wtime() < until) {
    }
  }
  double come = MPI_Wtime();
  CHECK_OK(MPI_Barrier(w.comm));
  const double left = MPI_Wtime();
  CHECK_OK(MPI_Bcast(&come, 1, MPI_DOUBLE, late, w.comm));
  CHECK(left >= come);  // all ranks use the same clock, as they are on one machine
}

// Operations that are started together, and completed in reverse order.
void at_once(const Where& w, int round) {
  constexpr int kCount = 700;
  constexpr int kEach = 6;
  std::vector<Ints> sent, received;
  std::vector<MPI_Request> requests;
  for (int i = 0; i < kEach; ++i) {
    sent.push_back(filled(round + i, w.rank, kCount));
    received.emplace_back(static_cast<std::size_t>(kCount * w.size), kPoison);
  }
  for (int i = 0; i < kEach; ++i) {
    const auto at = static_cast<std::size_t>(i);
    MPI_Request& request = requests.emplace_back();
    if (i % 3 == 0)
      CHECK_OK(MPI_Iallreduce(sent[at].data(), received[at].data(), kCount, MPI_INT, MPI_SUM, w.comm, &request));
    if (i % 3 == 1)
      CHECK_OK(
          MPI_Iallgather(sent[at].data(), kCount, MPI_INT, received[at].data(), kCount, MPI_INT, w.comm, &request));
    if (i % 3 == 2) CHECK_OK(MPI_Ibcast(sent[at].data(), kCount, MPI_INT, i % w.size, w.comm, &request));
  }
  std::reverse(requests.begin(), requests.end());
  for (MPI_Request& request : requests) CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < kEach; ++i) {
    const auto at = static_cast<std::size_t>(i);
    received[at].resize(static_cast<std::size_t>(i % 3 == 0 ? kCount : kCount * w.size));
    if (i % 3 == 0) CHECK(received[at] == sums(round + i, w.size, kCount));
    if (i % 3 == 1) CHECK(received[at] == all_of(round + i, w.size, kCount));
    if (i % 3 == 2) CHECK(sent[at] == filled(round + i, i % w.size, kCount));
  }
}

void all_on(MPI_Comm comm, MPI_Op joining) {
  const Where w(comm);
  int round = 1;
  for (const int count : {1, 11, 1500, 40000}) {
    for (int root = 0; root < w.size; ++root) {
      for (const Form form : {Form::kBlocking, Form::kNonblocking, Form::kPersistent}) {
        const Trial trial{round, root, count, round % 2 == 0, form};
        movements(w, trial);
        reductions(w, trial, joining);
        if (count == 1) barriers(w, round);
        ++round;
      }
    }
    at_once(w, round);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  MPI_Op joining = MPI_OP_NULL;
  CHECK_OK(MPI_Op_create(&join, 0, &joining));
  all_on(MPI_COMM_WORLD, joining);
  // In this communicator, the even ranks precede the odd ones, so that ranks are round robin over hosts
  // of two ranks each. In the next one, the last rank is omitted.
  MPI_Comm comm = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, mpi.rank % 2 * 1000 + mpi.rank, &comm));
  all_on(comm, joining);
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, mpi.rank == mpi.size - 1 ? MPI_UNDEFINED : 0, -mpi.rank, &comm));
  if (comm != MPI_COMM_NULL) {
    all_on(comm, joining);
    CHECK_OK(MPI_Comm_free(&comm));
  }
  CHECK_OK(MPI_Op_free(&joining));
  return 0;
}
