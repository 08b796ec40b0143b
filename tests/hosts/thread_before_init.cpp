// Every other rank has a second thread, which reads the environment, before it calls MPI_Init. The paths between ranks
// are the same as without: messages of several lengths in a ring, values checked.
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "common/check.hpp"

int main(int argc, char** argv) {
  const char* const own = std::getenv("PMI_RANK");
  CHECK(own != nullptr);
  std::atomic<bool> ends{false};
  std::atomic<unsigned> reads{0};
  std::thread reader;
  if (std::atoi(own) % 2 == 1) {
    reader = std::thread([&] {
      for (; !ends; ++reads) CHECK(std::getenv("PMI_RANK") != nullptr);
    });
    while (reads == 0) std::this_thread::yield();
  }
  int provided = 0;
  CHECK_OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided));
  ends = true;
  if (reader.joinable()) reader.join();
  const int rank = check::world_rank(), size = check::world_size();
  for (const int bytes : {8, 20000, 60000, 400000}) {
    const auto value = [bytes](int from, int at) { return static_cast<unsigned char>(from * 31 + at * 7 + bytes); };
    std::vector<unsigned char> sent(static_cast<std::size_t>(bytes)), received(sent.size(), 0xee);
    for (int at = 0; at < bytes; ++at) sent[static_cast<std::size_t>(at)] = value(rank, at);
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    CHECK_OK(MPI_Sendrecv(sent.data(), bytes, MPI_BYTE, next, 1, received.data(), bytes, MPI_BYTE, before, 1,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int at = 0; at < bytes; ++at) CHECK(received[static_cast<std::size_t>(at)] == value(before, at));
  }
  return MPI_Finalize();
}
