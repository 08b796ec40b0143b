// Detects another MPI's library in place of Headrace's: pip lets one package overwrite another's files without a
// warning. Also detects programs that need another MPI's library.
#pragma once

#include <filesystem>
#include <string>

namespace hr::launcher {

// Returns one sentence about the libraries in this folder that another package has overwritten; empty if all are
// Headrace's or absent. Reads the first page of each. Threads: any.
std::string foreign_libraries(const std::filesystem::path& folder);

// foreign_libraries() for the folder lib of this mpiexec's installation.
std::string foreign_libraries_here();

// Returns one sentence about a program that is linked with Open MPI's library, whose ranks would run as separate jobs;
// empty for all other files. Reads some hundred bytes of the file. Threads: any.
std::string program_of_open_mpi(const std::filesystem::path& program);

}  // namespace hr::launcher
