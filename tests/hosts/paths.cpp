// Long messages between all pairs, values checked, with a report of which were copied directly from one process's
// memory to the other's. Process 0 prints one line per receiver, with one letter per sender, 's' for single copies and
// '.' for other protocols.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/check.hpp"
#include "common/statistic.hpp"

namespace {

constexpr int kBytes = 3000001;
constexpr int kRepeats = 3;

unsigned char byte_at(int at, int from, int to) {
  return static_cast<unsigned char>((static_cast<unsigned>(at) * 2654435761U >> 11) +
                                    static_cast<unsigned>(from * 37 + to));
}

void send(std::vector<unsigned char>& data, int from, int to) {
  for (int i = 0; i < kBytes; ++i) data[static_cast<std::size_t>(i)] = byte_at(i, from, to);
  CHECK_OK(MPI_Send(data.data(), kBytes, MPI_BYTE, to, 1, MPI_COMM_WORLD));
}

void receive(std::vector<unsigned char>& data, int from, int to) {
  std::memset(data.data(), 0xaa, data.size());
  CHECK_OK(MPI_Recv(data.data(), kBytes, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < kBytes; ++i) {
    if (data[static_cast<std::size_t>(i)] != byte_at(i, from, to)) {
      check::fail(__FILE__, __LINE__, "from " + std::to_string(from) + ": byte " + std::to_string(i) + " is wrong");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  const check::Statistic copies("HEADRACE_SINGLE_COPIES");
  std::vector<unsigned char> data(kBytes);
  std::string own(static_cast<std::size_t>(mpi.size), '-');
  for (int from = 0; from < mpi.size; ++from) {
    for (int to = 0; to < mpi.size; ++to) {
      CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
      if (from == to) continue;
      const unsigned long long before = copies.value();
      for (int repeat = 0; repeat < kRepeats; ++repeat) {
        if (mpi.rank == from) send(data, from, to);
        if (mpi.rank == to) receive(data, from, to);
      }
      if (mpi.rank == to) own[static_cast<std::size_t>(from)] = copies.value() == before ? '.' : 's';
    }
  }
  std::string all(own.size() * own.size(), ' ');
  CHECK_OK(MPI_Gather(own.data(), mpi.size, MPI_CHAR, all.data(), mpi.size, MPI_CHAR, 0, MPI_COMM_WORLD));
  for (int to = 0; mpi.rank == 0 && to < mpi.size; ++to) {
    std::printf("%.*s\n", mpi.size, all.c_str() + static_cast<std::ptrdiff_t>(to) * mpi.size);
  }
  return 0;
}
