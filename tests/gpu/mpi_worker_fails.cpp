// Ranks that share a device, one of which works for all (docs/adr/0055-one-worker-for-a-device.md): if its launches
// fail, no rank returns without an error and with a wrong result. For the fake driver.
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "mpi_memory.hpp"

namespace {

using hr::test::Buffer;
using hr::test::MemoryKind;

constexpr int kCount = 200'000;
constexpr int kCalls = 12;  // the first ones use messages

// In the worker, the lowest rank; called before the driver is opened.
void order_fault() {
  const char* rank = std::getenv("PMI_RANK");
  if (rank != nullptr && std::atoi(rank) == 0) ::setenv("FAKE_CUDA_FAIL", "cuLaunchKernel:4:2", 1);
}

}  // namespace

int main(int argc, char** argv) {
  order_fault();
  const check::Environment mpi(&argc, &argv);
  if (!hr::test::select_device()) return 0;
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  constexpr std::size_t kBytes = kCount * sizeof(std::uint32_t);
  Buffer send(kBytes, MemoryKind::kDevice);
  Buffer recv(kBytes, MemoryKind::kDevice);
  const auto own = static_cast<std::uint32_t>(mpi.rank);
  send.put(std::vector<std::uint32_t>(kCount, own + 1));
  const std::vector<std::uint32_t> right(kCount, (own + 1) * (own + 2) / 2);
  int failed = 0;
  for (int call = 0; call < kCalls; ++call) {
    recv.put(std::vector<std::uint32_t>(kCount, 0xdeadbeef));
    if (MPI_Scan(send.get(), recv.get(), kCount, MPI_UINT32_T, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS) {
      ++failed;
    } else {
      CHECK(recv.take<std::uint32_t>() == right);
    }
    int all = 0;
    CHECK_OK(MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(all, failed * mpi.size);
  }
  CHECK(failed > 0);
  return 0;
}
