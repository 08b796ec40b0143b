// MPI_Abort ends a process with the given code: each rank starts a child without a launcher, which calls MPI_Abort. If
// the call returns, the child exits with 0, and the rank's check fails.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "../common/check.hpp"

extern char** environ;

namespace {

constexpr int kCode = 7;

// Returns the environment without the launcher's variables.
std::vector<char*> environment_of_nobody() {
  std::vector<char*> kept;
  for (char** each = environ; *each != nullptr; ++each) {
    bool launcher = false;
    for (const char* prefix : {"PMI", "MPI_LOCAL"}) launcher |= std::strncmp(*each, prefix, std::strlen(prefix)) == 0;
    if (!launcher) kept.push_back(*each);
  }
  kept.push_back(nullptr);
  return kept;
}

int status_of_child(char* program, MPI_Comm comm) {
  std::string which = comm == MPI_COMM_SELF ? "self" : "world";
  char* const arguments[] = {program, which.data(), nullptr};
  std::vector<char*> environment = environment_of_nobody();
  pid_t child = -1;
  int status = -1;
  CHECK_EQ(::posix_spawn(&child, program, nullptr, nullptr, arguments, environment.data()), 0);
  CHECK_EQ(::waitpid(child, &status, 0), child);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) {
    MPI_Init(nullptr, nullptr);
    if (check::world_size() == 1) MPI_Abort(std::string(argv[1]) == "self" ? MPI_COMM_SELF : MPI_COMM_WORLD, kCode);
    MPI_Finalize();
    return 0;
  }
  const check::Environment mpi(&argc, &argv);
  for (MPI_Comm comm : {MPI_COMM_SELF, MPI_COMM_WORLD}) {
    const int status = status_of_child(argv[0], comm);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), kCode);
  }
}
