// The path between processes of two jobs is lost, although both processes continue. Their calls end with an error. Once
// the two connect again, every message arrives.
//
//   mpiexec -n 1 --as-hosts 2 again ROUNDS
//
// The process spawns two others, the second of which is on the other host. In each round, it shuts down all its
// connections to that host. The processes at both ends notice this, and connect by a port.
#include <mpi-ext.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "family.hpp"

namespace {

constexpr int kFar = 1;  // rank of the spawned process on the other host

// Ends all connections to other hosts. Their peer is the spawned process, because this process has opened no others.
int cut() {
  int count = 0;
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    sockaddr_storage other{};
    socklen_t length = sizeof other;
    if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&other), &length) != 0) continue;
    if (other.ss_family != AF_INET && other.ss_family != AF_INET6) continue;
    CHECK_EQ(::shutdown(descriptor, SHUT_RDWR), 0);
    ++count;
  }
  return count;
}

// Waits for a message that never comes, and expects the wait to end with an error.
void notice(MPI_Comm inter, int from) {
  CHECK_OK(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
  int value = -1;
  const int code = MPI_Recv(&value, 1, MPI_INT, from, 99, inter, MPI_STATUS_IGNORE);
  int category = MPI_SUCCESS;
  CHECK_OK(MPI_Error_class(code, &category));
  CHECK_EQ(category, MPIX_ERR_PROC_FAILED);
}

// Accepts a connection. The first attempt may report the failure instead; then the second one must succeed.
void accept(const char* port, MPI_Comm* inter) {
  const int code = MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter);
  if (code == MPI_SUCCESS) return;
  int category = MPI_SUCCESS;
  CHECK_OK(MPI_Error_class(code, &category));
  CHECK_EQ(category, MPIX_ERR_PROC_FAILED);
  CHECK_OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter));
}

void run_parent(int rounds, char* program) {
  const std::string text = std::to_string(rounds);
  char* words[] = {const_cast<char*>(text.c_str()), nullptr};
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_spawn(program, words, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter, MPI_ERRCODES_IGNORE));
  char port[MPI_MAX_PORT_NAME] = {};
  CHECK_OK(MPI_Open_port(MPI_INFO_NULL, port));
  CHECK_OK(MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, kFar, 0, inter));
  int far = kFar;
  for (int round = 0; round < rounds; ++round) {
    int ready = -1;
    CHECK_OK(MPI_Recv(&ready, 1, MPI_INT, far, 1, inter, MPI_STATUS_IGNORE));
    CHECK_EQ(ready, round);
    CHECK(cut() > 0);
    notice(inter, far);
    accept(port, &inter);
    far = 0;
    family::exchange_messages(inter);
  }
  CHECK_OK(MPI_Comm_disconnect(&inter));
  CHECK_OK(MPI_Close_port(port));
}

void run_far_child(int rounds, MPI_Comm inter) {
  char port[MPI_MAX_PORT_NAME] = {};
  CHECK_OK(MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, inter, MPI_STATUS_IGNORE));
  for (int round = 0; round < rounds; ++round) {
    CHECK_OK(MPI_Send(&round, 1, MPI_INT, 0, 1, inter));
    notice(inter, 0);
    CHECK_OK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter));
    family::exchange_messages(inter);
  }
  CHECK_OK(MPI_Comm_disconnect(&inter));
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = std::atoi(argv[1]);
  check::Environment environment(&argc, &argv);
  MPI_Comm inter = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_get_parent(&inter));
  if (inter == MPI_COMM_NULL) {
    run_parent(rounds, argv[0]);
  } else if (check::world_rank() == kFar) {
    run_far_child(rounds, inter);
  }
  return 0;
}
