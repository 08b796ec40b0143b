// CallSite: the place where the program called an MPI function.
//
// A call site is an address in the program. It is converted to text only when it is reported: to the file and line if
// addr2line and debug information are available, else to the function's name or the offset in the file. The call site
// of another process is sent as an offset in the loaded file. Threads: library lock.
#pragma once

#include <cstdint>
#include <string>

namespace hr::check {

struct CallSite {
  const char* function = "";      // name of the MPI function
  const void* address = nullptr;  // return address of the call
};

// Returns the first caller outside the library: `caller`, or a caller further up the stack.
const void* program_caller(const void* caller) noexcept;

// A call site in a form that other processes can read; a part of messages.
struct RemoteCallSite {
  std::uint64_t offset = 0;  // offset in the file, as in its debug information
  char function[48] = {};    // name of the MPI function
  char file[144] = {};       // the file that was loaded
};
RemoteCallSite remote(const CallSite& call_site);

// Returns "MPI_Irecv at halo.c:31 (exchange)".
std::string text(const CallSite& call_site);
std::string text(const RemoteCallSite& call_site);

}  // namespace hr::check
