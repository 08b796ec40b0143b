// The v-forms with blocks of every length around those that still fit into shared memory, short and long ones in the
// same operation; blocking, and two non-blocking ones at once. Every byte of the receive buffers is checked.
#include <algorithm>
#include <numeric>

#include "coll_test.hpp"

using namespace coll_test;

namespace {

using Bytes = std::vector<unsigned char>;
constexpr unsigned char kUntouched = 0xa5;

unsigned char byte_of(int round, int source, int target, std::size_t i) {
  return static_cast<unsigned char>(value(round, source, target, static_cast<int>(i >> 3), static_cast<int>(i & 7)));
}

// The lengths of the blocks of one operation, the same on all ranks.
class Lengths {
 public:
  Lengths(int round, int size) : round_(round) {
    const int place = 16384 / size / 64 * 64;
    const int most = size > 8 ? 20000 : 70000;
    lengths_ = {0, 1, 47, 48, 49, place - 9, place - 8, place - 7, place, 4096, 16383, 16384, 16385, most};
  }
  [[nodiscard]] int of(int source, int target) const {
    const auto at = static_cast<std::size_t>(value(round_, source, target, 0, 0));
    return lengths_[at % lengths_.size()];
  }

 private:
  int round_;
  std::vector<int> lengths_;
};

// Blocks with gaps between them.
struct Layout {
  std::vector<int> counts, displacements;
  std::size_t bytes = 0;
  template <class LengthOf>
  Layout(int blocks, LengthOf length_of) {
    for (int i = 0; i < blocks; ++i) {
      counts.push_back(length_of(i));
      displacements.push_back(static_cast<int>(bytes) + i % 3);
      bytes = static_cast<std::size_t>(displacements.back()) + static_cast<std::size_t>(counts.back());
    }
  }
};

// One operation of this process: its buffers, which outlive it, and what it must receive.
struct Operation {
  Layout out, in;
  Bytes send, recv, wanted;
  std::vector<MPI_Datatype> types;
  MPI_Request request = MPI_REQUEST_NULL;

  Operation(Layout sent, Layout received, int size)
      : out(std::move(sent)),
        in(std::move(received)),
        send(out.bytes + 1),
        recv(in.bytes + 3, kUntouched),
        wanted(recv),
        types(static_cast<std::size_t>(size), MPI_BYTE) {}
  void sends(std::size_t block, int round, int source, int target) { fill(send, out, block, round, source, target); }
  void receives(std::size_t block, int round, int source, int target) {
    fill(wanted, in, block, round, source, target);
  }
  void complete() {
    CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(recv == wanted);
  }

 private:
  static void fill(Bytes& data, const Layout& layout, std::size_t block, int round, int source, int target) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(layout.counts[block]); ++i)
      data[static_cast<std::size_t>(layout.displacements[block]) + i] = byte_of(round, source, target, i);
  }
};

Operation alltoall(const Where& where, int round, bool blocking, bool typed) {
  const Lengths lengths(round, where.size);
  Operation made(Layout(where.size, [&](int to) { return lengths.of(where.rank, to); }),
                 Layout(where.size, [&](int from) { return lengths.of(from, where.rank); }), where.size);
  for (int peer = 0; peer < where.size; ++peer) {
    made.sends(static_cast<std::size_t>(peer), round, where.rank, peer);
    made.receives(static_cast<std::size_t>(peer), round, peer, where.rank);
  }
  const int *sent = made.out.counts.data(), *sdispls = made.out.displacements.data();
  const int *received = made.in.counts.data(), *rdispls = made.in.displacements.data();
  if (typed && blocking) {
    CHECK_OK(MPI_Alltoallw(made.send.data(), sent, sdispls, made.types.data(), made.recv.data(), received, rdispls,
                           made.types.data(), where.comm));
  } else if (typed) {
    CHECK_OK(MPI_Ialltoallw(made.send.data(), sent, sdispls, made.types.data(), made.recv.data(), received, rdispls,
                            made.types.data(), where.comm, &made.request));
  } else if (blocking) {
    CHECK_OK(MPI_Alltoallv(made.send.data(), sent, sdispls, MPI_BYTE, made.recv.data(), received, rdispls, MPI_BYTE,
                           where.comm));
  } else {
    CHECK_OK(MPI_Ialltoallv(made.send.data(), sent, sdispls, MPI_BYTE, made.recv.data(), received, rdispls, MPI_BYTE,
                            where.comm, &made.request));
  }
  return made;
}

Operation gather(const Where& where, int round, int root, bool blocking) {
  const Lengths lengths(round, where.size);
  const bool here = where.rank == root;
  Operation made(Layout(1, [&](int) { return lengths.of(where.rank, root); }),
                 Layout(here ? where.size : 0, [&](int from) { return lengths.of(from, root); }), where.size);
  made.sends(0, round, where.rank, root);
  for (int from = 0; from < where.size && here; ++from)
    made.receives(static_cast<std::size_t>(from), round, from, root);
  if (blocking) {
    CHECK_OK(MPI_Gatherv(made.send.data(), made.out.counts[0], MPI_BYTE, made.recv.data(), made.in.counts.data(),
                         made.in.displacements.data(), MPI_BYTE, root, where.comm));
  } else {
    CHECK_OK(MPI_Igatherv(made.send.data(), made.out.counts[0], MPI_BYTE, made.recv.data(), made.in.counts.data(),
                          made.in.displacements.data(), MPI_BYTE, root, where.comm, &made.request));
  }
  return made;
}

Operation scatter(const Where& where, int round, int root, bool blocking) {
  const Lengths lengths(round, where.size);
  const bool here = where.rank == root;
  Operation made(Layout(here ? where.size : 0, [&](int to) { return lengths.of(root, to); }),
                 Layout(1, [&](int) { return lengths.of(root, where.rank); }), where.size);
  for (int to = 0; to < where.size && here; ++to) made.sends(static_cast<std::size_t>(to), round, root, to);
  made.receives(0, round, root, where.rank);
  if (blocking) {
    CHECK_OK(MPI_Scatterv(made.send.data(), made.out.counts.data(), made.out.displacements.data(), MPI_BYTE,
                          made.recv.data(), made.in.counts[0], MPI_BYTE, root, where.comm));
  } else {
    CHECK_OK(MPI_Iscatterv(made.send.data(), made.out.counts.data(), made.out.displacements.data(), MPI_BYTE,
                           made.recv.data(), made.in.counts[0], MPI_BYTE, root, where.comm, &made.request));
  }
  return made;
}

Operation any(const Where& where, int kind, int round, int root, bool blocking) {
  switch (kind) {
    case 0:
      return gather(where, round, root, blocking);
    case 1:
      return scatter(where, round, root, blocking);
    default:
      return alltoall(where, round, blocking, kind == 3);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  const Where where(MPI_COMM_WORLD);
  Choices choices;
  const int rounds = mpi.size > 8 ? 2 : 6;
  int number = 0;
  for (int round = 0; round < rounds; ++round) {
    for (int kind = 0; kind < 4; ++kind) any(where, kind, ++number, choices.below(mpi.size), true).complete();
    // The second of the two may need what the first one still holds; the last is waited for first.
    for (int kind = 0; kind < 4; ++kind) {
      Operation first = any(where, kind, ++number, choices.below(mpi.size), false);
      Operation second = any(where, choices.below(4), ++number, choices.below(mpi.size), false);
      second.complete();
      first.complete();
    }
  }
  return 0;
}
