// CallSite: where the program called a function of MPI.
//
// An address of the program, which becomes text only when it is reported: the file and line by addr2line if that and
// debug information are there, else the name of the function, or the offset in the file. Another process's call site is
// reported as the offset in the file that was loaded. Threads: library lock.
#pragma once

#include <cstdint>
#include <string>

namespace hr::check {

struct CallSite {
  const char* function = "";      // of MPI
  const void* address = nullptr;  // to which it returns
};

// Returns the first caller outside the library: `caller`, or one further up.
const void* program_caller(const void* caller) noexcept;

// A call site as another process can read it; a part of messages.
struct RemoteCallSite {
  std::uint64_t offset = 0;  // in the file, as debug information counts
  char function[48] = {};    // of MPI
  char file[144] = {};       // the file that was loaded
};
RemoteCallSite remote(const CallSite& call_site);

// Returns "MPI_Irecv at halo.c:31 (exchange)".
std::string text(const CallSite& call_site);
std::string text(const RemoteCallSite& call_site);

}  // namespace hr::check
