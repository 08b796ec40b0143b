// mpiexec: starts the ranks of an MPI program on this machine and stays with them to the end.
#include <fcntl.h>
#include <unistd.h>

#include "job.hpp"
#include "options.hpp"

int main(int argc, char** argv) {
  // Whoever starts us without standard descriptors must not get a pipe of ours under their numbers.
  for (int opened = 0; opened >= 0 && opened <= STDERR_FILENO;) {
    opened = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (opened > STDERR_FILENO) ::close(opened);
  }
  int exit_code = 0;
  auto options = hr::launcher::parse_options(argc, argv, &exit_code);
  if (!options) return exit_code;
  return hr::launcher::Job(std::move(*options)).run();
}
