// mpiexec: starts the ranks of an MPI program, on this host and others, and stays with them to the end.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "agent.hpp"
#include "help.hpp"
#include "job.hpp"
#include "options.hpp"
#include "planning.hpp"

namespace {

constexpr int kUsageExit = 2;

}  // namespace

int main(int argc, char** argv) {
  // Whoever starts us without standard descriptors must not get a pipe of ours under their numbers.
  for (int opened = 0; opened >= 0 && opened <= STDERR_FILENO;) {
    opened = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (opened > STDERR_FILENO) ::close(opened);
  }
  if (argc == 2 && std::string_view(argv[1]) == "--agent") return hr::launcher::run_agent();
  int exit_code = 0;
  auto options = hr::launcher::parse_options(argc, argv, &exit_code);
  if (!options) return exit_code;
  hr::launcher::JobPlan plan;
  if (!hr::launcher::make_plan(&*options, &plan).ok()) {
    std::fprintf(stderr, "mpiexec: %s\n%smpiexec --help lists the options\n", hr::take_detail().c_str(),
                 hr::launcher::kUsage);
    return kUsageExit;
  }
  return hr::launcher::Job(*options, std::move(plan)).run();
}
