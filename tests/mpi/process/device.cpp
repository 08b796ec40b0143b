// Device memory through an intercommunicator with spawned processes, and through the merged communicator. by_devices:
// the processes of both jobs must agree to reduce on their devices, as those of one job would.
#include <filesystem>
#include <string>

#include "../../gpu/mpi_memory.hpp"
#include "../../gpu/variable.hpp"
#include "family.hpp"

namespace {

using hr::test::Buffer;
using hr::test::MemoryKind;

constexpr unsigned kParents = 7, kChildren = 9;

void exchange(MPI_Comm inter, bool is_parent, MemoryKind sent_kind, MemoryKind received_kind, std::size_t bytes) {
  const unsigned own = is_parent ? kParents : kChildren;
  const unsigned other = is_parent ? kChildren : kParents;
  Buffer out(bytes, sent_kind);
  Buffer in(bytes, received_kind);
  out.put(hr::test::content(bytes, own));
  in.put(std::vector<std::byte>(bytes, std::byte{0xee}));
  const int peer = family::rank_in(inter);
  if (peer >= family::remote_size_of(inter)) return;
  CHECK_OK(MPI_Sendrecv(out.get(), static_cast<int>(bytes), MPI_BYTE, peer, 1, in.get(), static_cast<int>(bytes),
                        MPI_BYTE, peer, 1, inter, MPI_STATUS_IGNORE));
  CHECK(in.take<std::byte>() == hr::test::content(bytes, other));
}

// Every pair of processes of the merged communicator exchanges messages, so that each process has peers in both jobs.
void exchange_all(MPI_Comm merged, MemoryKind kind, std::size_t bytes) {
  const int own = family::rank_in(merged), size = family::size_of(merged);
  for (int mask = 1; mask < 2 * size; ++mask) {
    const int peer = own ^ mask;
    if (peer >= size) continue;
    Buffer out(bytes, kind), in(bytes, kind);
    out.put(hr::test::content(bytes, static_cast<unsigned>(own)));
    in.put(std::vector<std::byte>(bytes, std::byte{0xee}));
    CHECK_OK(MPI_Sendrecv(out.get(), static_cast<int>(bytes), MPI_BYTE, peer, 1, in.get(), static_cast<int>(bytes),
                          MPI_BYTE, peer, 1, merged, MPI_STATUS_IGNORE));
    CHECK(in.take<std::byte>() == hr::test::content(bytes, static_cast<unsigned>(peer)));
  }
}

void reduce(MPI_Comm comm, MemoryKind kind) {
  constexpr int kCount = 5000;
  std::vector<int> values(kCount);
  for (int at = 0; at < kCount; ++at) values[at] = family::rank_in(comm) + at;
  Buffer own(kCount * sizeof(int), kind);
  Buffer sum(kCount * sizeof(int), kind);
  own.put(values);
  sum.put(std::vector<int>(kCount, -1));
  CHECK_OK(MPI_Allreduce(own.get(), sum.get(), kCount, MPI_INT, MPI_SUM, comm));
  const std::vector<int> result = sum.take<int>();
  const int size = family::size_of(comm);
  for (int at = 0; at < kCount; ++at) CHECK_EQ(result[at], size * (size - 1) / 2 + size * at);
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment environment(&argc, &argv);
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_get_parent(&inter));
  const bool is_parent = inter == MPI_COMM_NULL;
  if (is_parent) {
    const std::string path = std::filesystem::read_symlink("/proc/self/exe");
    CHECK_OK(
        MPI_Comm_spawn(path.c_str(), MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
  }
  if (!hr::test::select_device()) return 0;
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{5000}, std::size_t{3} << 20}) {
    for (const MemoryKind sent : {MemoryKind::kHost, MemoryKind::kHostPinned, MemoryKind::kDevice, MemoryKind::kPool}) {
      for (const MemoryKind received : {MemoryKind::kHost, MemoryKind::kDevice, MemoryKind::kPool})
        exchange(inter, is_parent, sent, received, bytes);
    }
  }
  MPI_Comm merged = MPI_COMM_NULL;
  CHECK_OK(MPI_Intercomm_merge(inter, is_parent ? 0 : 1, &merged));
  hr::test::Variable by_devices("HEADRACE_COLL_DEVICE");
  for (int round = 0; round < 10; ++round) reduce(merged, MemoryKind::kDevice);  // until all have agreed to use GPUs
  if (argc > 1 && std::string(argv[1]) == "by_devices") CHECK(by_devices.take() > 0);
  reduce(merged, MemoryKind::kHost);
  for (const std::size_t bytes : {std::size_t{5000}, std::size_t{6} << 20}) {
    exchange_all(merged, MemoryKind::kDevice, bytes);
    exchange_all(merged, MemoryKind::kPool, bytes);
  }
  CHECK_OK(MPI_Comm_disconnect(&merged));
  CHECK_OK(MPI_Comm_disconnect(&inter));
  return 0;
}
