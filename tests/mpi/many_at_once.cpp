// Twenty thousand pending messages of mixed lengths, received in another order, by tag: eager and rendezvous messages
// keep their order within a tag. Checks every byte, and the one after the buffer.
#include <cstdio>
#include <random>
#include <vector>

#include "mpi.h"

namespace {

constexpr int kMessages = 20000;
constexpr int kTags = 1000;
constexpr unsigned char kPoison = 0xee;

unsigned char letter(int message) { return static_cast<unsigned char>(message * 37); }

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::mt19937 random(7);
  std::vector<std::vector<unsigned char>> data(kMessages);
  for (int message = 0; message < kMessages; ++message) {
    const std::size_t bytes = random() % 8 == 0 ? 66000 + random() % 3000 : random() % 300;
    data[static_cast<std::size_t>(message)].assign(bytes + 1, rank == 0 ? letter(message) : kPoison);
  }
  std::vector<MPI_Request> requests;
  const auto start = [&](int message) {
    auto& each = data[static_cast<std::size_t>(message)];
    const int bytes = static_cast<int>(each.size()) - 1;
    MPI_Request& request = requests.emplace_back();
    if (rank == 0) {
      MPI_Isend(each.data(), bytes, MPI_BYTE, 1, message % kTags, MPI_COMM_WORLD, &request);
    } else {
      MPI_Irecv(each.data(), bytes, MPI_BYTE, 0, message % kTags, MPI_COMM_WORLD, &request);
    }
  };
  if (rank == 0) {
    for (int message = 0; message < kMessages; ++message) start(message);
  } else {
    for (int tag = kTags - 1; tag >= 0; --tag) {
      for (int message = tag; message < kMessages; message += kTags) start(message);
    }
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (int message = 0; rank == 1 && message < kMessages; ++message) {
    const auto& each = data[static_cast<std::size_t>(message)];
    for (std::size_t at = 0; at < each.size(); ++at) {
      if (each[at] == (at + 1 == each.size() ? kPoison : letter(message))) continue;
      std::fprintf(stderr, "many_at_once: message %d of %zu bytes: byte %zu is %d\n", message, each.size() - 1, at,
                   each[at]);
      MPI_Abort(MPI_COMM_WORLD, 3);
    }
  }
  MPI_Finalize();
  if (rank == 1) std::puts("ok");
  return 0;
}
