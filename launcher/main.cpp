// mpiexec: starts the ranks of an MPI program on this machine and stays with them to the end.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "help.hpp"
#include "job.hpp"
#include "options.hpp"
#include "plan.hpp"

int main(int argc, char** argv) {
  // Whoever starts us without standard descriptors must not get a pipe of ours under their numbers.
  for (int opened = 0; opened >= 0 && opened <= STDERR_FILENO;) {
    opened = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (opened > STDERR_FILENO) ::close(opened);
  }
  int exit_code = 0;
  auto options = hr::launcher::parse_options(argc, argv, &exit_code);
  if (!options) return exit_code;
  hr::launcher::Plan plan;
  if (!hr::launcher::make_plan(*options, &plan).ok()) {
    std::fprintf(stderr, "mpiexec: %s\n%smpiexec --help lists the options\n", hr::take_detail().c_str(),
                 hr::launcher::kUsage);
    return hr::launcher::kUsageExit;
  }
  if (options->note_oversubscription && !plan.note.empty()) std::fprintf(stderr, "mpiexec: %s\n", plan.note.c_str());
  if (options->do_not_launch) {
    hr::launcher::print_plan(plan, options->json);
    return std::fflush(stdout) == 0 ? 0 : 1;
  }
  return hr::launcher::Job(std::move(*options), std::move(plan)).run();
}
