// mpiexec: starts the ranks of an MPI program, on this host and others, and runs until the last one has ended.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "job/job.hpp"
#include "job/serve.hpp"
#include "plan/planning.hpp"
#include "program/foreign_library.hpp"
#include "system/process.hpp"
#include "system/signals.hpp"
#include "tree/agent.hpp"
#include "words/command_line.hpp"
#include "words/help.hpp"

int main(int argc, char** argv) {
  hr::launcher::expect_children();
  // If this process was started without standard descriptors, none of its pipes may get the numbers 0 to 2. Output to a
  // missing descriptor must fail, so that its loss is reported.
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(standard, F_GETFD) < 0) static_cast<void>(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }
  if (argc == 2 && std::string_view(argv[1]) == "--agent") return hr::launcher::run_agent();
  if (argc == 3 && std::string_view(argv[1]) == "--serve") return hr::launcher::serve(argv[2]);
  int exit_code = 0;
  auto options = hr::launcher::parse_options(argc, argv, &exit_code);
  if (!options) return exit_code;
  hr::launcher::JobPlan plan;
  hr::launcher::RankLayout layout;
  const bool only_show = options->do_not_launch;
  if (!(only_show ? make_layout(&*options, &layout) : make_plan(&*options, &plan)).ok()) {
    std::fprintf(stderr, "mpiexec: %s\n%smpiexec --help lists the options\n", hr::take_detail().c_str(),
                 hr::launcher::kUsage);
    return hr::launcher::kUsageExit;
  }
  if (const std::string foreign = hr::launcher::foreign_libraries_here(); !foreign.empty())
    std::fprintf(stderr, "mpiexec: %s\n", foreign.c_str());
  for (const hr::launcher::PlannedProgram& program : plan.programs) {
    std::string path;
    if (hr::launcher::find_executable(program.arguments.front(), program.directory, plan.search_path, &path) != 0)
      continue;
    if (const std::string foreign = hr::launcher::program_of_open_mpi(path); !foreign.empty())
      std::fprintf(stderr, "mpiexec: %s\n", foreign.c_str());
  }
  if (!only_show) return hr::launcher::Job(*options, std::move(plan)).run();
  if (options->note_oversubscription && !layout.note.empty())
    std::fprintf(stderr, "mpiexec: %s\n", layout.note.c_str());
  print_layout(layout, options->json);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
