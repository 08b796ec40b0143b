// The library that belongs to this mpiexec, for programs that were linked without a run path.
#pragma once

#include <string>
#include <string_view>

namespace hr::launcher {

// The folder of libmpi_abi.so.1 in this installation; empty when there is none, and where the folder is the system's or
// an environment's with libraries of all kinds, which programs that have nothing to do with MPI must not get to see.
std::string library_folder();

// LD_LIBRARY_PATH with the folder at its end, unless it is there already: what the user has comes first.
std::string with_folder(std::string_view path, std::string_view folder);

}  // namespace hr::launcher
