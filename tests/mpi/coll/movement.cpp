// The collectives that move data, in three forms, with random roots, counts and layouts; every element and every gap of
// the receive buffers is checked.
#include "coll_test.hpp"

using namespace coll_test;

namespace {

struct Trial {
  int round, rank, size, root, count;
  Form form;
  bool in_place;
  const Shape* send;
  const Shape* recv;
  MPI_Comm comm;
};

// Blocks of a v operation: counts and displacements (in elements), with gaps and in reverse order.
struct Partition {
  std::vector<int> counts, displacements;
  int elements = 0;
};

int count_between(const Trial& t, int source, int target) {
  return (t.count + source * 2 + target * 3) % 5 + (t.count > 20 ? t.count : 0);
}

template <class CountOf>
Partition partition(int size, CountOf count_of) {
  Partition made{std::vector<int>(static_cast<std::size_t>(size)), std::vector<int>(static_cast<std::size_t>(size)), 0};
  for (int i = size - 1; i >= 0; --i) {
    made.counts[static_cast<std::size_t>(i)] = count_of(i);
    made.displacements[static_cast<std::size_t>(i)] = made.elements;
    made.elements += count_of(i) + i % 2;
  }
  return made;
}

void fill(Buffer& buffer, const Trial& t, int first, int count, int source, int target) {
  for (int e = 0; e < count; ++e) {
    for (int k = 0; k < kPerElement; ++k) buffer.at(first + e, k) = value(t.round, source, target, e, k);
  }
}

void expect(Buffer& buffer, const Trial& t, int first, int count, int source, int target) {
  for (int e = 0; e < count; ++e) {
    for (int k = 0; k < kPerElement; ++k) CHECK_EQ(buffer.at(first + e, k), value(t.round, source, target, e, k));
  }
}

void bcast(const Trial& t) {
  const Shape& shape = t.rank % 2 == 0 ? *t.send : *t.recv;
  Buffer buffer(shape, t.count);
  if (t.rank == t.root) fill(buffer, t, 0, t.count, t.root, 0);
  EXECUTE(t.form, B, b, cast, buffer.address(), t.count, buffer.type(), t.root, t.comm);
  expect(buffer, t, 0, t.count, t.root, 0);
  buffer.check_holes();
}

void gather(const Trial& t) {
  const bool root = t.rank == t.root;
  Buffer send(*t.send, t.count);
  Buffer recv(*t.recv, root ? t.count * t.size : 0);
  fill(send, t, 0, t.count, t.rank, 0);
  const bool in_place = root && t.in_place;
  if (in_place) fill(recv, t, t.rank * t.count, t.count, t.rank, 0);
  EXECUTE(t.form, G, g, ather, in_place ? MPI_IN_PLACE : send.address(), t.count, send.type(), recv.address(), t.count,
          recv.type(), t.root, t.comm);
  for (int i = 0; i < t.size && root; ++i) expect(recv, t, i * t.count, t.count, i, 0);
  recv.check_holes();
}

void gatherv(const Trial& t) {
  const bool root = t.rank == t.root;
  const Partition blocks = partition(t.size, [&](int i) { return count_between(t, i, 0); });
  const int count = count_between(t, t.rank, 0);
  Buffer send(*t.send, count);
  Buffer recv(*t.recv, root ? blocks.elements : 0);
  fill(send, t, 0, count, t.rank, 0);
  const auto own = static_cast<std::size_t>(t.rank);
  const bool in_place = root && t.in_place;
  if (in_place) fill(recv, t, blocks.displacements[own], count, t.rank, 0);
  EXECUTE(t.form, G, g, atherv, in_place ? MPI_IN_PLACE : send.address(), count, send.type(), recv.address(),
          blocks.counts.data(), blocks.displacements.data(), recv.type(), t.root, t.comm);
  for (std::size_t i = 0; i < blocks.counts.size() && root; ++i) {
    expect(recv, t, blocks.displacements[i], blocks.counts[i], static_cast<int>(i), 0);
  }
  recv.check_holes();
}

void scatter(const Trial& t) {
  const bool root = t.rank == t.root;
  Buffer send(*t.send, root ? t.count * t.size : 0);
  Buffer recv(*t.recv, t.count);
  for (int i = 0; i < t.size && root; ++i) fill(send, t, i * t.count, t.count, t.root, i);
  const bool in_place = root && t.in_place;
  EXECUTE(t.form, S, s, catter, send.address(), t.count, send.type(), in_place ? MPI_IN_PLACE : recv.address(), t.count,
          recv.type(), t.root, t.comm);
  if (in_place) {
    expect(send, t, t.rank * t.count, t.count, t.root, t.rank);
  } else {
    expect(recv, t, 0, t.count, t.root, t.rank);
  }
  recv.check_holes();
}

void scatterv(const Trial& t) {
  const bool root = t.rank == t.root;
  const Partition blocks = partition(t.size, [&](int i) { return count_between(t, 0, i); });
  const int count = count_between(t, 0, t.rank);
  Buffer send(*t.send, root ? blocks.elements : 0);
  Buffer recv(*t.recv, count);
  for (std::size_t i = 0; i < blocks.counts.size() && root; ++i) {
    fill(send, t, blocks.displacements[i], blocks.counts[i], t.root, static_cast<int>(i));
  }
  const bool in_place = root && t.in_place;
  EXECUTE(t.form, S, s, catterv, send.address(), blocks.counts.data(), blocks.displacements.data(), send.type(),
          in_place ? MPI_IN_PLACE : recv.address(), count, recv.type(), t.root, t.comm);
  if (!in_place) expect(recv, t, 0, count, t.root, t.rank);
  recv.check_holes();
}

void allgather(const Trial& t) {
  Buffer send(*t.send, t.count);
  Buffer recv(*t.recv, t.count * t.size);
  fill(send, t, 0, t.count, t.rank, 0);
  if (t.in_place) fill(recv, t, t.rank * t.count, t.count, t.rank, 0);
  EXECUTE(t.form, A, a, llgather, t.in_place ? MPI_IN_PLACE : send.address(), t.count, send.type(), recv.address(),
          t.count, recv.type(), t.comm);
  for (int i = 0; i < t.size; ++i) expect(recv, t, i * t.count, t.count, i, 0);
  recv.check_holes();
}

void allgatherv(const Trial& t) {
  const Partition blocks = partition(t.size, [&](int i) { return count_between(t, i, 0); });
  const int count = count_between(t, t.rank, 0);
  Buffer send(*t.send, count);
  Buffer recv(*t.recv, blocks.elements);
  fill(send, t, 0, count, t.rank, 0);
  if (t.in_place) fill(recv, t, blocks.displacements[static_cast<std::size_t>(t.rank)], count, t.rank, 0);
  EXECUTE(t.form, A, a, llgatherv, t.in_place ? MPI_IN_PLACE : send.address(), count, send.type(), recv.address(),
          blocks.counts.data(), blocks.displacements.data(), recv.type(), t.comm);
  for (std::size_t i = 0; i < blocks.counts.size(); ++i) {
    expect(recv, t, blocks.displacements[i], blocks.counts[i], static_cast<int>(i), 0);
  }
  recv.check_holes();
}

void alltoall(const Trial& t) {
  Buffer send(*t.send, t.count * t.size);
  Buffer recv(*t.recv, t.count * t.size);
  for (int i = 0; i < t.size; ++i) fill(t.in_place ? recv : send, t, i * t.count, t.count, t.rank, i);
  EXECUTE(t.form, A, a, lltoall, t.in_place ? MPI_IN_PLACE : send.address(), t.count, send.type(), recv.address(),
          t.count, recv.type(), t.comm);
  for (int i = 0; i < t.size; ++i) expect(recv, t, i * t.count, t.count, i, t.rank);
  recv.check_holes();
}

// With MPI_IN_PLACE, both members of a pair exchange the same count.
int count_of_pair(const Trial& t, int a, int b) {
  return t.in_place ? count_between(t, a < b ? a : b, a < b ? b : a) : count_between(t, a, b);
}

void alltoallv(const Trial& t) {
  const Partition out = partition(t.size, [&](int i) { return count_of_pair(t, t.rank, i); });
  const Partition in = partition(t.size, [&](int i) { return count_of_pair(t, i, t.rank); });
  Buffer send(*t.send, out.elements);
  Buffer recv(*t.recv, in.elements);
  for (std::size_t i = 0; i < out.counts.size(); ++i) {
    Buffer& from = t.in_place ? recv : send;
    fill(from, t, out.displacements[i], out.counts[i], t.rank, static_cast<int>(i));
  }
  EXECUTE(t.form, A, a, lltoallv, t.in_place ? MPI_IN_PLACE : send.address(), out.counts.data(),
          out.displacements.data(), send.type(), recv.address(), in.counts.data(), in.displacements.data(), recv.type(),
          t.comm);
  for (std::size_t i = 0; i < in.counts.size(); ++i) {
    expect(recv, t, in.displacements[i], in.counts[i], static_cast<int>(i), t.rank);
  }
  recv.check_holes();
}

void alltoallw(const Trial& t) {
  Partition out = partition(t.size, [&](int i) { return count_of_pair(t, t.rank, i); });
  Partition in = partition(t.size, [&](int i) { return count_of_pair(t, i, t.rank); });
  Buffer send(*t.send, out.elements);
  Buffer recv(*t.recv, in.elements);
  const std::vector<MPI_Datatype> send_types(out.counts.size(), send.type());
  const std::vector<MPI_Datatype> recv_types(in.counts.size(), recv.type());
  std::vector<int> out_bytes;
  std::vector<int> in_bytes;
  for (std::size_t i = 0; i < out.counts.size(); ++i) {
    Buffer& from = t.in_place ? recv : send;
    fill(from, t, out.displacements[i], out.counts[i], t.rank, static_cast<int>(i));
    out_bytes.push_back(out.displacements[i] * t.send->extent * static_cast<int>(sizeof(int)));
    in_bytes.push_back(in.displacements[i] * t.recv->extent * static_cast<int>(sizeof(int)));
  }
  EXECUTE(t.form, A, a, lltoallw, t.in_place ? MPI_IN_PLACE : send.address(), out.counts.data(), out_bytes.data(),
          send_types.data(), recv.address(), in.counts.data(), in_bytes.data(), recv_types.data(), t.comm);
  for (std::size_t i = 0; i < in.counts.size(); ++i) {
    expect(recv, t, in.displacements[i], in.counts[i], static_cast<int>(i), t.rank);
  }
  recv.check_holes();
}

void barrier(const Trial& t) { EXECUTE(t.form, B, b, arrier, t.comm); }

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  {
    const Shapes shapes;
    Choices choices;
    const Communicators comms(mpi.rank, mpi.size, choices);
    constexpr int kCounts[] = {0, 1, 2, 7, 60, 3000};
    const auto operations = {bcast,      gather,   gatherv,   scatter,   scatterv, allgather,
                             allgatherv, alltoall, alltoallv, alltoallw, barrier};
    int round = 0;
    for (const int count : kCounts) {
      for (int repeat = 0; repeat < (mpi.size > 4 ? 3 : 6); ++repeat) {
        for (const auto operation : operations) {
          Trial trial{};
          trial.round = round++;
          trial.comm = comms.any(choices);
          const bool takes_part = trial.comm != MPI_COMM_NULL;
          if (takes_part) MPI_Comm_rank(trial.comm, &trial.rank);
          trial.size = 1;
          if (takes_part) MPI_Comm_size(trial.comm, &trial.size);
          trial.root = any_root(choices, trial.size);
          trial.count = count;
          trial.form = static_cast<Form>(repeat % 3);
          trial.in_place = choices.flip();
          trial.send = &shapes[choices.below(shapes.size())];
          trial.recv = &shapes[choices.below(shapes.size())];
          if (takes_part) operation(trial);
        }
      }
    }
  }
  return 0;
}
