#include "fortran/errors.hpp"

#include <map>
#include <mutex>

#include "mpi.h"

namespace hr::fortran {
namespace {

// Returns the code for an error text; it stays the same for the lifetime of the process.
int code_of(int error_class, const char* text) {
  static std::mutex lock;
  static std::map<std::string, int> codes;
  const std::lock_guard guard(lock);
  const auto [entry, added] = codes.try_emplace(text, error_class);
  if (added && PMPI_Add_error_code(error_class, &entry->second) == MPI_SUCCESS) {
    PMPI_Add_error_string(entry->second, text);
  }
  return entry->second;
}

}  // namespace

int error(int error_class, const char* text) {
  const int code = code_of(error_class, text);
  PMPI_Comm_call_errhandler(MPI_COMM_SELF, code);
  return code;
}

}  // namespace hr::fortran
