// Reads the command line of mpiexec.
#pragma once

#include <optional>

#include "words/options.hpp"

namespace hr::launcher {

// Returns nullopt if there is nothing to run (help, version, an error, all already printed): exit with *exit_code.
std::optional<Options> parse_options(int argc, char** argv, int* exit_code);

}  // namespace hr::launcher
