// Another MPI's library where ours belongs: pip lets a package overwrite the files of another without a word. And
// programs that another MPI's library belongs to.
#pragma once

#include <filesystem>
#include <string>

namespace hr::launcher {

// One sentence about the libraries in this folder that another package has overwritten; empty where all are ours or
// absent. Reads the first page of each. Threads: any.
std::string foreign_libraries(const std::filesystem::path& folder);

// The same for the folder lib beside this mpiexec.
std::string foreign_libraries_here();

// One sentence about a program that is linked with Open MPI's library, whose ranks would run alone; empty for all other
// files. Reads some hundred bytes of the file. Threads: any.
std::string program_of_open_mpi(const std::filesystem::path& program);

}  // namespace hr::launcher
