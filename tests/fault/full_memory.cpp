// /dev/shm becomes full while ranks 0 and 1 exchange messages. Every message must arrive, or be cancelled. Must run as
// root in a mount namespace of its own, as rank 0 leaves the directory no more space than it uses. The ways:
//   short, eager, long, shared   MPI_Send of 8 bytes; of a length that travels with its envelope; of one that does not;
//                                of one that both ranks copy
//   buffered                     MPI_Bsend
//   cancel                       MPI_Cancel of sends that no receive matches
#include <mpi.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kMessages = 500;
constexpr int kTag = 1, kBackTag = 2, kUnmatchedTag = 3;

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "full_memory: %s\n", what);
  std::exit(99);
}

int bytes_of(std::string_view way) {
  if (way == "short") return 8;
  if (way == "eager" || way == "buffered") return 4000;
  return way == "shared" ? 1 << 18 : 20000;
}

unsigned char expected(int message, int at) { return static_cast<unsigned char>(message * 31 + at * 7 + 1); }

void fill_directory() {
  for (int attempt = 0; attempt < 100; ++attempt) {
    struct statvfs space{};
    check(::statvfs("/dev/shm", &space) == 0, "cannot look at /dev/shm");
    const std::string size = "size=" + std::to_string((space.f_blocks - space.f_bfree) * space.f_frsize);
    if (::mount("tmpfs", "/dev/shm", "tmpfs", MS_REMOUNT, size.c_str()) == 0) return;
    check(errno == EINVAL, "cannot change the size of /dev/shm");  // else another rank has just taken a page
  }
  check(false, "the use of /dev/shm changes too often");
}

void send(std::string_view way, int message, std::vector<unsigned char>& data, MPI_Comm comm) {
  const int bytes = static_cast<int>(data.size());
  for (int at = 0; at < bytes; ++at) data[static_cast<std::size_t>(at)] = expected(message, at);
  if (way == "buffered") {
    MPI_Bsend(data.data(), bytes, MPI_BYTE, 0, kTag, comm);
  } else if (way == "cancel") {
    MPI_Request request;
    MPI_Status status;
    int cancelled = 0;
    MPI_Isend(data.data(), bytes, MPI_BYTE, 0, kUnmatchedTag, comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    check(cancelled != 0, "a send that nothing matches has not been cancelled");
    MPI_Send(data.data(), bytes, MPI_BYTE, 0, kTag, comm);
  } else {
    MPI_Send(data.data(), bytes, MPI_BYTE, 0, kTag, comm);
  }
}

void receive(int message, std::vector<unsigned char>& data, MPI_Comm comm) {
  const int bytes = static_cast<int>(data.size());
  data.assign(data.size(), 0xa5);
  MPI_Status status;
  int count = 0;
  MPI_Recv(data.data(), bytes, MPI_BYTE, 1, kTag, comm, &status);
  MPI_Get_count(&status, MPI_BYTE, &count);
  check(count == bytes, "a message has another length");
  for (int at = 0; at < bytes; ++at)
    check(data[static_cast<std::size_t>(at)] == expected(message, at), "a message has other data");
}

}  // namespace

int main(int argc, char** argv) {
  check(argc == 2, "usage: full_memory WAY");
  const std::string_view way = argv[1];
  int provided = 0, rank = 0, value = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  std::vector<unsigned char> data(static_cast<std::size_t>(bytes_of(way)));
  std::vector<unsigned char> buffer(kMessages * (data.size() + MPI_BSEND_OVERHEAD));
  if (way == "buffered") MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size()));
  // Everything that barriers, and a first message each way, need has its memory now.
  if (rank < 2) MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 0, &value, 1, MPI_INT, 1 - rank, 0, comm, MPI_STATUS_IGNORE);
  for (int round = 0; round < 3; ++round) MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) fill_directory();
  MPI_Barrier(MPI_COMM_WORLD);
  for (int message = 0; message < kMessages && rank < 2; ++message) {
    rank == 1 ? send(way, message, data, comm) : receive(message, data, comm);
    if (message % 10 != 0) continue;
    if (rank == 0) MPI_Send(&message, 1, MPI_INT, 1, kBackTag, comm);
    if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, kBackTag, comm, MPI_STATUS_IGNORE);
    check(rank == 0 || value == message, "a message in the other direction has other data");
  }
  if (way == "buffered") {
    void* detached = nullptr;
    int size = 0;
    MPI_Buffer_detach(&detached, &size);
  }
  MPI_Comm_free(&comm);
  MPI_Finalize();
  std::printf("ok %d\n", rank);
}
