// Collectives on an intercommunicator of two groups of different size: each group gets the other's data.
#include <algorithm>
#include <numeric>

#include "coll_test.hpp"

using namespace coll_test;

namespace {

struct Sides {
  MPI_Comm comm;
  int rank, size, others;
  bool first;  // true if this process is in the first group
  Form form;

  // Returns the argument `root` if process `root` of the first (or second) group is the root.
  [[nodiscard]] int root_argument(bool in_first, int root) const {
    if (first != in_first) return root;
    return rank == root ? MPI_ROOT : MPI_PROC_NULL;
  }
  [[nodiscard]] bool is_root(bool in_first, int root) const { return first == in_first && rank == root; }
  [[nodiscard]] bool is_leaf(bool in_first) const { return first != in_first; }
  // Returns a number that differs for ranks of the two groups.
  [[nodiscard]] int mine() const { return first ? rank : 100 + rank; }
  [[nodiscard]] int theirs(int other) const { return first ? 100 + other : other; }
};

using Ints = std::vector<int>;
constexpr int kCount = 5;

int data(int source, int target, int k) { return value(3, source, target, 0, k); }

void rooted(const Sides& s, bool in_first, int root) {
  const int argument = s.root_argument(in_first, root);
  const bool is_root = s.is_root(in_first, root);
  const bool is_leaf = s.is_leaf(in_first);
  const int root_id = in_first ? root : 100 + root;
  const auto others = static_cast<std::size_t>(s.others);
  Ints one(kCount, kPoison);
  Ints many(others * kCount, kPoison);
  Ints counts(others);
  Ints displs(others);
  for (int i = 0; i < s.others; ++i) {
    counts[static_cast<std::size_t>(i)] = i % kCount;
    displs[static_cast<std::size_t>(i)] = (s.others - 1 - i) * kCount;
  }

  if (is_root) {
    for (int k = 0; k < kCount; ++k) one[static_cast<std::size_t>(k)] = data(root_id, 0, k);
  }
  EXECUTE(s.form, B, b, cast, one.data(), kCount, MPI_INT, argument, s.comm);
  for (int k = 0; k < kCount; ++k) {
    CHECK_EQ(one[static_cast<std::size_t>(k)], is_root || is_leaf ? data(root_id, 0, k) : kPoison);
  }

  for (int k = 0; k < kCount; ++k) one[static_cast<std::size_t>(k)] = data(s.mine(), root_id, k);
  EXECUTE(s.form, G, g, ather, one.data(), kCount, MPI_INT, many.data(), kCount, MPI_INT, argument, s.comm);
  for (int i = 0; i < s.others; ++i) {
    for (int k = 0; k < kCount; ++k) {
      CHECK_EQ(many[static_cast<std::size_t>(i * kCount + k)], is_root ? data(s.theirs(i), root_id, k) : kPoison);
    }
  }
  std::fill(many.begin(), many.end(), kPoison);
  EXECUTE(s.form, G, g, atherv, one.data(), s.rank % kCount, MPI_INT, many.data(), counts.data(), displs.data(),
          MPI_INT, argument, s.comm);
  for (std::size_t i = 0; i < others; ++i) {
    for (int k = 0; k < kCount; ++k) {
      CHECK_EQ(many[static_cast<std::size_t>(displs[i] + k)],
               is_root && k < counts[i] ? data(s.theirs(static_cast<int>(i)), root_id, k) : kPoison);
    }
  }

  for (int i = 0; i < s.others; ++i) {
    for (int k = 0; k < kCount; ++k) many[static_cast<std::size_t>(i * kCount + k)] = data(root_id, s.theirs(i), k);
  }
  std::fill(one.begin(), one.end(), kPoison);
  EXECUTE(s.form, S, s, catter, many.data(), kCount, MPI_INT, one.data(), kCount, MPI_INT, argument, s.comm);
  for (int k = 0; k < kCount; ++k)
    CHECK_EQ(one[static_cast<std::size_t>(k)], is_leaf ? data(root_id, s.mine(), k) : kPoison);
  std::fill(one.begin(), one.end(), kPoison);
  for (std::size_t i = 0; i < others; ++i) {
    for (int k = 0; k < kCount; ++k)
      many[static_cast<std::size_t>(displs[i] + k)] = data(root_id, s.theirs(static_cast<int>(i)), k);
  }
  EXECUTE(s.form, S, s, catterv, many.data(), counts.data(), displs.data(), MPI_INT, one.data(), s.rank % kCount,
          MPI_INT, argument, s.comm);
  for (int k = 0; k < kCount; ++k) {
    CHECK_EQ(one[static_cast<std::size_t>(k)], is_leaf && k < s.rank % kCount ? data(root_id, s.mine(), k) : kPoison);
  }

  Ints sum(kCount, kPoison);
  for (int k = 0; k < kCount; ++k) one[static_cast<std::size_t>(k)] = s.mine() + k;
  EXECUTE(s.form, R, r, educe, one.data(), sum.data(), kCount, MPI_INT, MPI_SUM, argument, s.comm);
  for (int k = 0; k < kCount; ++k) {
    int wanted = 0;
    for (int i = 0; i < s.others; ++i) wanted += s.theirs(i) + k;
    CHECK_EQ(sum[static_cast<std::size_t>(k)], is_root ? wanted : kPoison);
  }
}

void unrooted(const Sides& s) {
  const auto others = static_cast<std::size_t>(s.others);
  Ints one(kCount);
  Ints many(others * kCount, kPoison);
  Ints out(others * kCount);
  Ints counts(others, kCount);
  Ints displs(others);
  Ints bytes(others);
  const std::vector<MPI_Datatype> types(others, MPI_INT);
  for (int i = 0; i < s.others; ++i) {
    displs[static_cast<std::size_t>(i)] = i * kCount;
    bytes[static_cast<std::size_t>(i)] = i * kCount * static_cast<int>(sizeof(int));
    for (int k = 0; k < kCount; ++k) out[static_cast<std::size_t>(i * kCount + k)] = data(s.mine(), s.theirs(i), k);
  }
  for (int k = 0; k < kCount; ++k) one[static_cast<std::size_t>(k)] = data(s.mine(), 0, k);
  const auto check_many = [&](bool own_target) {
    for (int i = 0; i < s.others; ++i) {
      for (int k = 0; k < kCount; ++k) {
        int& found = many[static_cast<std::size_t>(i * kCount + k)];
        CHECK_EQ(found, data(s.theirs(i), own_target ? s.mine() : 0, k));
        found = kPoison;
      }
    }
  };
  EXECUTE(s.form, B, b, arrier, s.comm);
  EXECUTE(s.form, A, a, llgather, one.data(), kCount, MPI_INT, many.data(), kCount, MPI_INT, s.comm);
  check_many(false);
  EXECUTE(s.form, A, a, llgatherv, one.data(), kCount, MPI_INT, many.data(), counts.data(), displs.data(), MPI_INT,
          s.comm);
  check_many(false);
  EXECUTE(s.form, A, a, lltoall, out.data(), kCount, MPI_INT, many.data(), kCount, MPI_INT, s.comm);
  check_many(true);
  EXECUTE(s.form, A, a, lltoallv, out.data(), counts.data(), displs.data(), MPI_INT, many.data(), counts.data(),
          displs.data(), MPI_INT, s.comm);
  check_many(true);
  EXECUTE(s.form, A, a, lltoallw, out.data(), counts.data(), bytes.data(), types.data(), many.data(), counts.data(),
          bytes.data(), types.data(), s.comm);
  check_many(true);
  // Data moves in one direction only.
  EXECUTE(s.form, A, a, llgather, one.data(), s.first ? kCount : 0, MPI_INT, many.data(), s.first ? 0 : kCount, MPI_INT,
          s.comm);
  if (!s.first) check_many(false);

  Ints sum(kCount, kPoison);
  for (int k = 0; k < kCount; ++k) one[static_cast<std::size_t>(k)] = s.mine() * 7 + k;
  EXECUTE(s.form, A, a, llreduce, one.data(), sum.data(), kCount, MPI_INT, MPI_SUM, s.comm);
  const auto wanted = [&](int k) {
    int total = 0;
    for (int i = 0; i < s.others; ++i) total += s.theirs(i) * 7 + k;
    return total;
  };
  for (int k = 0; k < kCount; ++k) CHECK_EQ(sum[static_cast<std::size_t>(k)], wanted(k));

  // Both groups divide a vector of the same length, each group into parts of its own length.
  const int share = s.others * 2;
  Ints vector(static_cast<std::size_t>(s.size * share));
  for (std::size_t k = 0; k < vector.size(); ++k) vector[k] = s.mine() * 7 + static_cast<int>(k);
  Ints part(static_cast<std::size_t>(share) + 1, kPoison);
  EXECUTE(s.form, R, r, educe_scatter_block, vector.data(), part.data(), share, MPI_INT, MPI_SUM, s.comm);
  for (int k = 0; k < share; ++k) CHECK_EQ(part[static_cast<std::size_t>(k)], wanted(s.rank * share + k));
  Ints shares(static_cast<std::size_t>(s.size), share);
  EXECUTE(s.form, R, r, educe_scatter, vector.data(), part.data(), shares.data(), MPI_INT, MPI_SUM, s.comm);
  for (int k = 0; k < share; ++k) CHECK_EQ(part[static_cast<std::size_t>(k)], wanted(s.rank * share + k));
  CHECK_EQ(part.back(), kPoison);
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv, 2);
  const int border = (mpi.size + 2) / 3;
  Sides s{};
  s.first = mpi.rank < border;
  MPI_Comm local = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, s.first ? 0 : 1, mpi.rank, &local));
  CHECK_OK(MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, s.first ? border : 0, 1, &s.comm));
  MPI_Comm_rank(s.comm, &s.rank);
  MPI_Comm_size(s.comm, &s.size);
  MPI_Comm_remote_size(s.comm, &s.others);
  for (const Form form : {Form::kBlocking, Form::kNonblocking, Form::kPersistent}) {
    s.form = form;
    unrooted(s);
    for (int root = 0; root < border; ++root) rooted(s, true, root);
    for (int root = 0; root < mpi.size - border; ++root) rooted(s, false, root);
  }
  CHECK_OK(MPI_Comm_free(&s.comm));
  CHECK_OK(MPI_Comm_free(&local));
  return 0;
}
