// -configfile: the command line from a file, one program with its options on each line.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace hr::launcher {

// Blank lines and lines that begin with '#' are left out, a '\' at the end continues a line, quotes as in a shell.
Status read_config_file(const std::string& path, std::vector<std::vector<std::string>>* parts);

}  // namespace hr::launcher
