// Reductions in three forms: predefined operations, and an operation of this test that is not commutative (products of
// 2x2 matrices modulo a prime), whose result reveals any change of the order of ranks.
#include <algorithm>

#include "coll_test.hpp"

using namespace coll_test;

namespace {

struct Matrix {
  std::array<int, 4> m;
  bool operator==(const Matrix&) const = default;
};
static_assert(sizeof(Matrix) == 4 * sizeof(int));

constexpr int kPrime = 10007;

Matrix multiply(const Matrix& a, const Matrix& b) {
  return {{(a.m[0] * b.m[0] + a.m[1] * b.m[2]) % kPrime, (a.m[0] * b.m[1] + a.m[1] * b.m[3]) % kPrime,
           (a.m[2] * b.m[0] + a.m[3] * b.m[2]) % kPrime, (a.m[2] * b.m[1] + a.m[3] * b.m[3]) % kPrime}};
}

void multiply_all(void* in, void* inout, int* length, MPI_Datatype* type) {
  MPI_Aint lb = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(*type, &lb, &extent);
  for (int i = 0; i < *length; ++i) {
    const auto* a = reinterpret_cast<const Matrix*>(static_cast<char*>(in) + i * extent);
    auto* b = reinterpret_cast<Matrix*>(static_cast<char*>(inout) + i * extent);
    *b = multiply(*a, *b);
  }
}

// Functions that create, combine and compare the elements of an operation.
template <class T>
struct Kind {
  MPI_Datatype type;
  MPI_Op op;
  T (*make)(int round, int rank, int index);
  T (*combine)(const T&, const T&);
  T poison;
};

template <class T>
struct Vector {
  std::vector<T> data;
  // The space after the elements reveals writes beyond them.
  Vector(std::size_t count, const T& poison) : data(count + 3, poison) {}
};

struct Trial {
  int round, rank, size, root, count;
  Form form;
  bool in_place;
  MPI_Comm comm;
};

// Returns the reduction over ranks [0, ranks) of element `index`.
template <class T>
T reduced(const Kind<T>& kind, const Trial& t, int ranks, int index) {
  T result = kind.make(t.round, 0, index);
  for (int rank = 1; rank < ranks; ++rank) result = kind.combine(result, kind.make(t.round, rank, index));
  return result;
}

template <class T>
Vector<T> operand(const Kind<T>& kind, const Trial& t, int count) {
  Vector<T> made(static_cast<std::size_t>(count), kind.poison);
  for (int i = 0; i < count; ++i) made.data[static_cast<std::size_t>(i)] = kind.make(t.round, t.rank, i);
  return made;
}

template <class T>
void expect(const Kind<T>& kind, const Trial& t, const Vector<T>& found, int ranks, int first, int count) {
  for (int i = 0; i < count; ++i) CHECK(found.data[static_cast<std::size_t>(i)] == reduced(kind, t, ranks, first + i));
}

template <class T>
void expect_end(const Kind<T>& kind, const Vector<T>& found) {
  for (std::size_t i = found.data.size() - 3; i < found.data.size(); ++i) CHECK(found.data[i] == kind.poison);
}

template <class T>
void all_reductions(const Kind<T>& kind, Trial t) {
  const auto room = static_cast<std::size_t>(t.count);
  {  // reduce
    const bool in_place = t.in_place && t.rank == t.root;
    Vector<T> send = operand(kind, t, t.count);
    Vector<T> recv = in_place ? operand(kind, t, t.count) : Vector<T>(room, kind.poison);
    EXECUTE(t.form, R, r, educe, in_place ? MPI_IN_PLACE : send.data.data(), recv.data.data(), t.count, kind.type,
            kind.op, t.root, t.comm);
    if (t.rank == t.root) expect(kind, t, recv, t.size, 0, t.count);
    if (t.rank != t.root) CHECK(std::count(recv.data.begin(), recv.data.end(), kind.poison) == t.count + 3);
    expect_end(kind, recv);
    CHECK(send.data == operand(kind, t, t.count).data);
  }
  ++t.round;
  {  // allreduce
    Vector<T> send = operand(kind, t, t.count);
    Vector<T> recv = t.in_place ? operand(kind, t, t.count) : Vector<T>(room, kind.poison);
    EXECUTE(t.form, A, a, llreduce, t.in_place ? MPI_IN_PLACE : send.data.data(), recv.data.data(), t.count, kind.type,
            kind.op, t.comm);
    expect(kind, t, recv, t.size, 0, t.count);
    expect_end(kind, recv);
  }
  ++t.round;
  {  // reduce_scatter_block
    Vector<T> send = operand(kind, t, t.count * t.size);
    Vector<T> recv = t.in_place ? operand(kind, t, t.count * t.size) : Vector<T>(room, kind.poison);
    EXECUTE(t.form, R, r, educe_scatter_block, t.in_place ? MPI_IN_PLACE : send.data.data(), recv.data.data(), t.count,
            kind.type, kind.op, t.comm);
    expect(kind, t, recv, t.size, t.rank * t.count, t.count);
    expect_end(kind, recv);
  }
  ++t.round;
  {  // reduce_scatter
    std::vector<int> counts;
    int total = 0;
    int first = 0;
    for (int i = 0; i < t.size; ++i) {
      if (i == t.rank) first = total;
      counts.push_back((t.count + i) % 4 * (t.count / 4 + 1));
      total += counts.back();
    }
    const int own = counts[static_cast<std::size_t>(t.rank)];
    Vector<T> send = operand(kind, t, total);
    Vector<T> recv = t.in_place ? operand(kind, t, total) : Vector<T>(static_cast<std::size_t>(own), kind.poison);
    EXECUTE(t.form, R, r, educe_scatter, t.in_place ? MPI_IN_PLACE : send.data.data(), recv.data.data(), counts.data(),
            kind.type, kind.op, t.comm);
    expect(kind, t, recv, t.size, first, own);
    expect_end(kind, recv);
  }
  ++t.round;
  {  // scan
    Vector<T> send = operand(kind, t, t.count);
    Vector<T> recv = t.in_place ? operand(kind, t, t.count) : Vector<T>(room, kind.poison);
    EXECUTE(t.form, S, s, can, t.in_place ? MPI_IN_PLACE : send.data.data(), recv.data.data(), t.count, kind.type,
            kind.op, t.comm);
    expect(kind, t, recv, t.rank + 1, 0, t.count);
    expect_end(kind, recv);
  }
  ++t.round;
  {  // exscan
    Vector<T> send = operand(kind, t, t.count);
    Vector<T> recv = t.in_place ? operand(kind, t, t.count) : Vector<T>(room, kind.poison);
    EXECUTE(t.form, E, e, xscan, t.in_place ? MPI_IN_PLACE : send.data.data(), recv.data.data(), t.count, kind.type,
            kind.op, t.comm);
    if (t.rank > 0) expect(kind, t, recv, t.rank, 0, t.count);
    expect_end(kind, recv);
  }
}

// All ranks get bitwise identical results, although sums of doubles depend on the order.
void same_bits_everywhere(const Trial& t) {
  std::vector<double> send(static_cast<std::size_t>(t.count));
  std::vector<double> recv(send.size(), -1);
  for (std::size_t i = 0; i < send.size(); ++i) send[i] = 1.0 / (3.0 + t.rank * 17.0 + static_cast<double>(i));
  EXECUTE(t.form, A, a, llreduce, send.data(), recv.data(), t.count, MPI_DOUBLE, MPI_SUM, t.comm);
  std::vector<double> of_first = recv;
  CHECK_OK(MPI_Bcast(of_first.data(), t.count, MPI_DOUBLE, 0, t.comm));
  CHECK(recv == of_first);
  std::vector<double> again(send.size(), -1);
  CHECK_OK(MPI_Allreduce(send.data(), again.data(), t.count, MPI_DOUBLE, MPI_SUM, t.comm));
  if (check::headrace())
    CHECK(recv == again);  // only recommended (section 6.9.1); Headrace guarantees it for every form
}

// A persistent allreduce reads the buffer's content at each start.
void persistent_restart(const Trial& t) {
  std::vector<int> send(100);
  std::vector<int> recv(100);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Allreduce_init(send.data(), recv.data(), 100, MPI_INT, MPI_SUM, t.comm, MPI_INFO_NULL, &request));
  for (int start = 0; start < 5; ++start) {
    for (int i = 0; i < 100; ++i) send[static_cast<std::size_t>(i)] = start * 1000 + i + t.rank;
    CHECK_OK(MPI_Start(&request));
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < 100; ++i) {
      CHECK_EQ(recv[static_cast<std::size_t>(i)], t.size * (start * 1000 + i) + t.size * (t.size - 1) / 2);
    }
  }
  CHECK_OK(MPI_Request_free(&request));
}

void reduce_local(const Kind<Matrix>& kind) {
  const std::vector<Matrix> in = {kind.make(1, 0, 0), kind.make(1, 0, 1)};
  std::vector<Matrix> inout = {kind.make(1, 1, 0), kind.make(1, 1, 1)};
  const std::vector<Matrix> wanted = {multiply(in[0], inout[0]), multiply(in[1], inout[1])};
  CHECK_OK(MPI_Reduce_local(in.data(), inout.data(), 2, kind.type, kind.op));
  CHECK(inout == wanted);
  int left = 5;
  int right = 7;
  CHECK_OK(MPI_Reduce_local(&left, &right, 1, MPI_INT, MPI_MAX));
  CHECK_EQ(right, 7);
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  Choices choices;

  Kind<Matrix> matrices{};
  CHECK_OK(MPI_Type_contiguous(4, MPI_INT, &matrices.type));
  CHECK_OK(MPI_Type_commit(&matrices.type));
  CHECK_OK(MPI_Op_create(multiply_all, 0, &matrices.op));
  matrices.make = [](int round, int rank, int index) {
    return Matrix{{value(round, rank, 0, index, 0) % kPrime, value(round, rank, 0, index, 1) % kPrime,
                   value(round, rank, 0, index, 2) % kPrime, value(round, rank, 0, index, 3) % kPrime}};
  };
  matrices.combine = multiply;
  matrices.poison = Matrix{{kPoison, kPoison, kPoison, kPoison}};

  const Kind<int> sums{MPI_INT, MPI_SUM,
                       [](int round, int rank, int index) { return value(round, rank, 0, index, 0) % 1000; },
                       [](const int& a, const int& b) { return a + b; }, kPoison};
  const Kind<double> maxima{MPI_DOUBLE, MPI_MAX,
                            [](int round, int rank, int index) { return 0.5 * value(round, rank, 0, index, 0); },
                            [](const double& a, const double& b) { return std::max(a, b); }, -1.25};
  struct Place {
    int value, rank;
    bool operator==(const Place&) const = default;
  };
  const Kind<Place> places{
      MPI_2INT, MPI_MINLOC,
      [](int round, int rank, int index) { return Place{value(round, rank, 0, index, 0) % 3, rank}; },
      [](const Place& a, const Place& b) { return b.value < a.value ? b : a; }, Place{kPoison, 0}};

  const Communicators comms(mpi.rank, mpi.size, choices);
  int round = 0;
  for (const int count : {0, 1, 3, 50, 9000}) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      Trial trial{};
      trial.comm = comms.any(choices);
      const bool takes_part = trial.comm != MPI_COMM_NULL;
      if (takes_part) MPI_Comm_rank(trial.comm, &trial.rank);
      trial.size = 1;
      if (takes_part) MPI_Comm_size(trial.comm, &trial.size);
      trial.root = any_root(choices, trial.size);
      trial.count = count;
      trial.form = static_cast<Form>(repeat);
      trial.in_place = choices.flip();
      trial.round = round += 10;
      if (!takes_part) continue;
      all_reductions(sums, trial);
      all_reductions(places, trial);
      all_reductions(maxima, trial);
      if (count < 9000) all_reductions(matrices, trial);
      same_bits_everywhere(trial);
      if (repeat == 0) persistent_restart(trial);
    }
  }
  reduce_local(matrices);
  CHECK_OK(MPI_Op_free(&matrices.op));
  CHECK_OK(MPI_Type_free(&matrices.type));
  return 0;
}
