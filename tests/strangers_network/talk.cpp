// Two ranks that exchange messages until standard input ends, and check every byte: short messages, long ones, a
// window. Each prints "ready PID ADDRESS" once it has received a message from the other; ADDRESS is that of bytes that
// must not be written. Then it prints "PID dropped N" from time to time if the number N of dropped messages has
// changed, and at the end "right" or the error.
#include <mpi.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "common/statistic.hpp"

namespace {

constexpr std::size_t kLong = 200000;
alignas(64) unsigned char guard[64];

bool standard_input_has_ended() {
  pollfd input{0, POLLIN, 0};
  if (::poll(&input, 1, 0) <= 0) return false;
  char byte = 0;
  return ::read(0, &byte, 1) <= 0;
}

unsigned char letter(int round, int rank, std::size_t at) {
  return static_cast<unsigned char>(static_cast<std::size_t>(round) * 31 + at * 7 + static_cast<std::size_t>(rank));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int other = 1 - rank;
  std::memset(guard, 0x5a, sizeof guard);
  long long* counter = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Win_allocate(sizeof *counter, sizeof *counter, MPI_INFO_NULL, MPI_COMM_WORLD, &counter, &window);
  *counter = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  const check::Statistic dropped("HEADRACE_MESSAGES_DROPPED");
  unsigned long long told = 0;
  std::string wrong;
  std::vector<unsigned char> sent(kLong);
  std::vector<unsigned char> got(kLong);
  int round = 0;
  for (int goes_on = 1; goes_on != 0; ++round) {
    const std::size_t bytes = round % 16 == 0 ? kLong : 8 + static_cast<std::size_t>(round % 100);
    for (std::size_t at = 0; at < bytes; ++at) sent[at] = letter(round, rank, at);
    std::memset(got.data(), 0, bytes);
    MPI_Status status;
    MPI_Sendrecv(sent.data(), static_cast<int>(bytes), MPI_BYTE, other, 7, got.data(), static_cast<int>(bytes),
                 MPI_BYTE, other, 7, MPI_COMM_WORLD, &status);
    for (std::size_t at = 0; at < bytes && wrong.empty(); ++at) {
      if (got[at] != letter(round, other, at))
        wrong = "byte " + std::to_string(at) + " of round " + std::to_string(round);
    }
    const long long one = 1;
    long long before = 0;
    MPI_Fetch_and_op(&one, &before, MPI_LONG_LONG, other, 0, MPI_SUM, window);
    MPI_Win_flush(other, window);
    if (before != round && wrong.empty()) wrong = "the counter in round " + std::to_string(round);
    for (const unsigned char byte : guard) {
      if (byte != 0x5a && wrong.empty()) wrong = "memory that nobody writes";
    }
    if (round == 0) {
      std::printf("ready %d %p\n", static_cast<int>(::getpid()), static_cast<void*>(guard));
      std::fflush(stdout);
    }
    if (const unsigned long long now = dropped.value(); round % 8 == 0 && now != told) {
      told = now;
      std::printf("%d dropped %llu\n", static_cast<int>(::getpid()), told);
      std::fflush(stdout);
    }
    goes_on = rank == 0 && standard_input_has_ended() ? 0 : 1;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  std::printf("%s%s\n", wrong.empty() ? "right" : "wrong: ", wrong.c_str());
  MPI_Finalize();
  return wrong.empty() ? 0 : 1;
}
