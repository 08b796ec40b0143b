// One MPI_Alltoall with blocks of argv[1] bytes, values checked: the first messages of a job (test_first_messages.py).
#include <cstdlib>
#include <vector>

#include "common/check.hpp"

int main(int argc, char** argv) {
  CHECK_OK(MPI_Init(&argc, &argv));
  const int bytes = argc > 1 ? std::atoi(argv[1]) : 8;
  const int rank = check::world_rank(), size = check::world_size();
  const auto value = [](int from, int to) { return static_cast<unsigned char>(from * 16 + to + 1); };
  const auto block = static_cast<std::size_t>(bytes);
  std::vector<unsigned char> sent(static_cast<std::size_t>(size) * block), received(sent.size());
  for (std::size_t at = 0; at < sent.size(); ++at) sent[at] = value(rank, static_cast<int>(at / block));
  CHECK_OK(MPI_Alltoall(sent.data(), bytes, MPI_BYTE, received.data(), bytes, MPI_BYTE, MPI_COMM_WORLD));
  for (std::size_t at = 0; at < received.size(); ++at) CHECK(received[at] == value(static_cast<int>(at / block), rank));
  return MPI_Finalize();
}
