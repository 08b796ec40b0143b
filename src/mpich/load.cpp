// Finds libmpi_abi.so.1 when this library is loaded, and reports two MPI libraries in one process.
#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "mpich/entry.hpp"

namespace hr::mpich {

Standard standard;

namespace {

constexpr const char* kStandardLibrary = "libmpi_abi.so.1";

std::string path_of(const void* address) {
  Dl_info info = {};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

std::string own_path() { return path_of(&kStandardNames); }

const char* name_of(const char* path) {
  const char* const slash = std::strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

bool starts_with(const char* text, const char* prefix) { return std::strncmp(text, prefix, std::strlen(prefix)) == 0; }

// Reports a second library with MPICH's or Open MPI's names, as some of the program's calls would go to that library
// and others to this one.
int look_at(dl_phdr_info* info, std::size_t /*size*/, void* own) {
  const char* const path = info->dlpi_name;
  if (path == nullptr || *path == '\0') return 0;
  const char* const name = name_of(path);
  const bool mpi = starts_with(name, "libmpi.so") || starts_with(name, "libmpich.so");
  if (!mpi || std::strcmp(path, static_cast<const std::string*>(own)->c_str()) == 0) return 0;
  void* const other = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  if (other == nullptr) return 0;
  const void* const function = dlsym(other, "PMPI_Init");
  const std::string there = function == nullptr ? "" : path_of(function);
  dlclose(other);
  if (there.empty() || there == *static_cast<const std::string*>(own))
    return 0;  // it is this library under another name
  std::fprintf(
      stderr,
      "headrace: two MPI libraries are in this process: %s and %s. Calls may go to either; set LD_LIBRARY_PATH "
      "so that only one is found\n",
      path, static_cast<const std::string*>(own)->c_str());
  return 0;
}

void* open_standard(const std::string& own) {
  // A process must have only one copy, so a copy that is already loaded is used.
  void* library = dlopen(kStandardLibrary, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  if (library != nullptr) return library;
  const std::size_t slash = own.rfind('/');
  if (slash != std::string::npos) {
    library = dlopen((own.substr(0, slash + 1) + kStandardLibrary).c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  return library != nullptr ? library : dlopen(kStandardLibrary, RTLD_NOW | RTLD_LOCAL);
}

[[noreturn]] void missing() {
  std::fprintf(stderr,
               "headrace: the program calls an MPI function that this %s does not have; install libmpi.so.12 and "
               "%s from one version of Headrace\n",
               kStandardLibrary, kStandardLibrary);
  std::abort();
}

__attribute__((constructor)) void load() {
  std::string own = own_path();
  dl_iterate_phdr(look_at, &own);
  void* const library = open_standard(own);
  if (library == nullptr) {
    std::fprintf(stderr, "headrace: %s (MPICH's ABI) needs %s beside it: %s\n", own.c_str(), kStandardLibrary,
                 dlerror());
    std::_Exit(127);
  }
  constexpr std::size_t kCount = sizeof(Standard) / sizeof(void*);
  static_assert(kCount == sizeof kStandardNames / sizeof kStandardNames[0]);
  auto* const members = reinterpret_cast<void**>(&standard);
  for (std::size_t i = 0; i < kCount; ++i) {
    void* const function = dlsym(library, kStandardNames[i]);
    members[i] = function != nullptr ? function : reinterpret_cast<void*>(&missing);
  }
}

}  // namespace
}  // namespace hr::mpich
