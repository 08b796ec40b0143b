// Folder of the library that belongs to this mpiexec, for programs that were linked without a run path.
#pragma once

#include <string>
#include <string_view>

namespace hr::launcher {

// Returns the folder of libmpi_abi.so.1 in this installation; empty if there is none. Also empty if the folder belongs
// to the system or to an environment: it then contains libraries of all kinds, which programs unrelated to MPI must not
// see.
std::string library_folder();

// Returns LD_LIBRARY_PATH with the folder appended, so that the user's entries come first; does not add it twice.
std::string with_folder(std::string_view path, std::string_view folder);

}  // namespace hr::launcher
