// The command line of mpiexec, understood. Plain values, owned by main().
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "topo/cores.hpp"

namespace hr::launcher {

using Variable = std::pair<std::string, std::string>;

// One part of the command line between ':' signs.
struct Program {
  int ranks = 1;
  std::vector<std::string> arguments;  // the first is the program as written
  std::vector<Variable> environment;   // on top of mpiexec's own
  std::string directory;               // empty: mpiexec's own
};

struct Options {
  std::vector<Program> programs;
  bool label = false;
  topo::Binding binding = topo::Binding::kShare;
  bool report_bindings = false;
  double timeout_seconds = 0;  // 0: none

  [[nodiscard]] int ranks() const noexcept {
    int sum = 0;
    for (const Program& program : programs) sum += program.ranks;
    return sum;
  }
};

// nullopt when there is nothing to run (help, version, an error, all already printed): exit with *exit_code.
std::optional<Options> parse_options(int argc, char** argv, int* exit_code);

}  // namespace hr::launcher
