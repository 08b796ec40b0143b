// Two processes exchange device memory, disconnect, free the memory, and connect again, several times.
#include <filesystem>
#include <string>

#include "../../gpu/mpi_memory.hpp"
#include "family.hpp"

namespace {

using hr::test::Buffer;
using hr::test::MemoryKind;

constexpr int kRounds = 4;

void exchange(MPI_Comm inter, bool is_parent, int round, MemoryKind kind, std::size_t bytes) {
  const auto salt = [round](bool parents) { return static_cast<unsigned>(2 * round + (parents ? 1 : 0)); };
  Buffer out(bytes, kind), in(bytes, kind);
  out.put(hr::test::content(bytes, salt(is_parent)));
  in.put(std::vector<std::byte>(bytes, std::byte{0xee}));
  CHECK_OK(MPI_Sendrecv(out.get(), static_cast<int>(bytes), MPI_BYTE, 0, 1, in.get(), static_cast<int>(bytes), MPI_BYTE,
                        0, 1, inter, MPI_STATUS_IGNORE));
  CHECK(in.take<std::byte>() == hr::test::content(bytes, salt(!is_parent)));
  if (kind == MemoryKind::kPool) return;
  // The buffers of this round are freed after the two processes have disconnected.
  MPI_Comm copy = inter;
  CHECK_OK(MPI_Comm_disconnect(&copy));
}

// Calls that make progress, as a program makes them while it is not connected.
void make_progress() {
  for (int call = 0; call < 2000; ++call) {
    int flag = 0;
    CHECK_OK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment environment(&argc, &argv);
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_get_parent(&inter));
  const bool is_parent = inter == MPI_COMM_NULL;
  char port[MPI_MAX_PORT_NAME] = "";
  if (is_parent) {
    const std::string path = std::filesystem::read_symlink("/proc/self/exe");
    CHECK_OK(
        MPI_Comm_spawn(path.c_str(), MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE));
    CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
    CHECK_OK(MPI_Send(port, sizeof port, MPI_CHAR, 0, 0, inter));
  } else {
    CHECK_OK(MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, inter, MPI_STATUS_IGNORE));
  }
  if (!hr::test::select_device()) return 0;
  if (!is_parent) gpu::select(1);
  for (int round = 0; round < kRounds; ++round) {
    if (round != 0 && is_parent) CHECK_OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    if (round != 0 && !is_parent) CHECK_OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    exchange(inter, is_parent, round, MemoryKind::kPool, 300'000);
    exchange(inter, is_parent, round, MemoryKind::kDevice, std::size_t{5} << 20);
    make_progress();
  }
  if (is_parent) CHECK_OK(MPI_Close_port(port));
  return 0;
}
