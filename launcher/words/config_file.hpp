// -configfile: reads the command line from a file, with one program and its options per line.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace hr::launcher {

// Skips blank lines and lines that begin with '#'. A '\' at the end of a line continues it; quotes work as in a shell.
Status read_config_file(const std::string& path, std::vector<std::vector<std::string>>* parts);

}  // namespace hr::launcher
