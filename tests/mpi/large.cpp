// Large messages: up to 64 MiB, odd lengths and odd addresses, several in flight in both directions, and contiguous to
// strided.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "common/check.hpp"

namespace {

std::uint64_t word_at(std::size_t i, int rank) {
  std::uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(rank);
  return x ^ x >> 29;
}

void fill(unsigned char* data, std::size_t bytes, int rank) {
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = word_at(i / 8, rank);
    std::memcpy(data + i, &word, std::min<std::size_t>(8, bytes - i));
  }
}

void check_bytes(const unsigned char* data, std::size_t bytes, int rank) {
  for (std::size_t i = 0; i < bytes; i += 8) {
    const std::uint64_t word = word_at(i / 8, rank);
    if (std::memcmp(data + i, &word, std::min<std::size_t>(8, bytes - i)) != 0) {
      check::fail(__FILE__, __LINE__,
                  "wrong data in the 8 bytes from " + std::to_string(i) + " of " + std::to_string(bytes));
    }
  }
}

void one_way(const check::Environment& mpi) {
  std::vector<unsigned char> memory((std::size_t{64} << 20) + 256);
  for (const std::size_t bytes : {std::size_t{65537}, std::size_t{1048573}, std::size_t{4194304} + 1,
                                  std::size_t{33554393}, std::size_t{64} << 20}) {
    for (const std::size_t offset : {std::size_t{0}, std::size_t{1}, std::size_t{67}}) {
      unsigned char* data = memory.data() + offset;
      if (mpi.rank == 0) {
        fill(data, bytes, 0);
        CHECK_OK(MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, 1, 1, MPI_COMM_WORLD));
      } else {
        std::memset(memory.data(), 0xaa, memory.size());
        CHECK_OK(MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        check_bytes(data, bytes, 0);
        for (std::size_t i = 0; i < offset; ++i) CHECK_EQ(memory[i], 0xaa);
        for (std::size_t i = offset + bytes; i < offset + bytes + 100; ++i) CHECK_EQ(memory[i], 0xaa);
      }
    }
  }
}

void both_ways(const check::Environment& mpi) {
  constexpr int kMessages = 6;
  constexpr std::size_t kBytes = 5000011;
  const int peer = 1 - mpi.rank;
  std::vector<unsigned char> out(kBytes), in(kMessages * kBytes);
  fill(out.data(), kBytes, mpi.rank);
  MPI_Request requests[2 * kMessages];
  for (int m = 0; m < kMessages; ++m) {
    CHECK_OK(MPI_Isend(out.data(), kBytes, MPI_BYTE, peer, m, MPI_COMM_WORLD, &requests[m]));
  }
  for (int m = kMessages - 1; m >= 0; --m) {  // from the last to the first
    CHECK_OK(MPI_Irecv(in.data() + static_cast<std::size_t>(m) * kBytes, kBytes, MPI_BYTE, peer, m, MPI_COMM_WORLD,
                       &requests[kMessages + m]));
  }
  CHECK_OK(MPI_Waitall(2 * kMessages, requests, MPI_STATUSES_IGNORE));
  for (std::size_t m = 0; m < kMessages; ++m) check_bytes(in.data() + m * kBytes, kBytes, peer);
}

// The inner part of a cube is sent as a subarray and received as contiguous data, then sent back as contiguous data and
// received as a subarray.
void strided(const check::Environment& mpi) {
  constexpr int kEdge = 160, kInner = 150, kStart = 5, kPacked = kInner * kInner * kInner;
  const int sizes[] = {kEdge, kEdge, kEdge}, inner[] = {kInner, kInner, kInner}, starts[] = {kStart, kStart, kStart};
  MPI_Datatype block;
  CHECK_OK(MPI_Type_create_subarray(3, sizes, inner, starts, MPI_ORDER_C, MPI_INT, &block));
  CHECK_OK(MPI_Type_commit(&block));
  std::vector<int> cube(kEdge * kEdge * kEdge), packed(kPacked, -1);
  if (mpi.rank == 0) {
    for (std::size_t i = 0; i < cube.size(); ++i) cube[i] = static_cast<int>(i);
    CHECK_OK(MPI_Send(cube.data(), 1, block, 1, 1, MPI_COMM_WORLD));
    cube.assign(cube.size(), -1);
    CHECK_OK(MPI_Recv(cube.data(), 1, block, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int i = 0; i < static_cast<int>(cube.size()); ++i) {
      bool inside = true;
      for (int rest = i; const int unused : {0, 1, 2}) {
        (void)unused;
        inside = inside && rest % kEdge >= kStart && rest % kEdge < kStart + kInner;
        rest /= kEdge;
      }
      CHECK_EQ(cube[static_cast<std::size_t>(i)], inside ? i : -1);
    }
  } else {
    CHECK_OK(MPI_Recv(packed.data(), kPacked, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int n = 0; n < kPacked; ++n) {
      const int i = n / (kInner * kInner) + kStart, j = n / kInner % kInner + kStart, k = n % kInner + kStart;
      CHECK_EQ(packed[static_cast<std::size_t>(n)], (i * kEdge + j) * kEdge + k);
    }
    CHECK_OK(MPI_Send(packed.data(), kPacked, MPI_INT, 0, 2, MPI_COMM_WORLD));
  }
  CHECK_OK(MPI_Type_free(&block));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 2);
  if (mpi.rank > 1) return 0;
  one_way(mpi);
  both_ways(mpi);
  strided(mpi);
}
