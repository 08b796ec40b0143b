// queue FIFO0 FIFO1: two ranks that communicate only when they are told to. Each prints "started PID RANK", and then
// makes no MPI calls until somebody has written to its FIFO. Rank 0 sends messages to rank 1, which answers each; both
// check every element, and print "right" or "wrong".
#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <vector>

namespace {

constexpr int kLengths[] = {0, 1, 100, 5000, 300000};
constexpr int kTag = 5;
constexpr unsigned char kPoison = 0xa5;

unsigned char letter(int length, int rank, std::size_t at) {
  return static_cast<unsigned char>(static_cast<std::size_t>(length) * 13 + at * 7 + static_cast<std::size_t>(rank));
}

// Waits for the first byte.
void wait_for(const char* fifo) {
  const int opened = ::open(fifo, O_RDONLY);
  char byte = 0;
  if (::read(opened, &byte, 1) != 1) std::perror(fifo);
  ::close(opened);
}

bool is_right(const std::vector<unsigned char>& got, int length, int rank) {
  for (std::size_t at = 0; at < static_cast<std::size_t>(length); ++at) {
    if (got[at] != letter(length, rank, at)) return false;
  }
  return got.back() == kPoison;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 3) MPI_Abort(MPI_COMM_WORLD, 2);
  std::printf("started %d %d\n", static_cast<int>(::getpid()), rank);
  std::fflush(stdout);
  wait_for(argv[1 + rank]);
  bool right = true;
  for (const int length : kLengths) {
    const auto bytes = static_cast<std::size_t>(length);
    std::vector<unsigned char> sent(bytes + 1);
    std::vector<unsigned char> got(bytes + 1, kPoison);
    for (std::size_t at = 0; at < bytes; ++at) sent[at] = letter(length, rank, at);
    if (rank == 0) MPI_Send(sent.data(), length, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
    MPI_Recv(got.data(), length, MPI_BYTE, 1 - rank, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(sent.data(), length, MPI_BYTE, 0, kTag, MPI_COMM_WORLD);
    right = right && is_right(got, length, 1 - rank);
  }
  std::printf("%s\n", right ? "right" : "wrong");
  MPI_Finalize();
  return right ? 0 : 1;
}
