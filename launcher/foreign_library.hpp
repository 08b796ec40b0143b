// Detects another MPI's library in place of ours: pip lets a package overwrite another's files without a warning.
#pragma once

#include <filesystem>
#include <string>

namespace hr::launcher {

// Returns one sentence about the libraries in this folder that another package has overwritten; empty if all are ours
// or absent. Reads the first page of each. Threads: any.
std::string foreign_libraries(const std::filesystem::path& folder);

// Does the same for the folder lib of this mpiexec's installation.
std::string foreign_libraries_here();

}  // namespace hr::launcher
