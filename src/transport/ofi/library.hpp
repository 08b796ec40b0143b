// Library: the libfabric functions that this library calls by name. They are found at run time, so that this library
// neither links to libfabric nor needs it. All other functions are called through the objects that these return.
//
// Owner: process-wide; opened once, never closed. Threads: library lock.
#pragma once

#include <rdma/fabric.h>

#include <string>

#include "base/lent_variables.hpp"
#include "base/status.hpp"

namespace hr::transport::ofi {

// Oldest interface version with everything used here; newer libraries support it.
inline constexpr std::uint32_t kVersion = FI_VERSION(1, 9);

struct Library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_version) version = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  std::string path;  // path at which libfabric.so.1 was found

  // Returns the message of an error, which libfabric's functions return as a negative number.
  [[nodiscard]] std::string text(long error) const { return strerror(static_cast<int>(error < 0 ? -error : error)); }
};

// Environment variables for libfabric and its providers while they start. With them, providers do not replace the
// program's or this library's handlers of crash signals, and ofi_rxm keeps smaller buffers and looks for new
// connections more often.
struct Settings : LentVariables {
  Settings();
};

// Opens the library on the first call. Errors: MPI_ERR_OTHER with the places searched and the package to install.
Status open_library(const Library** out);

// True if messages go over TCP: the user has chosen that, or this host has no device that another provider may use.
[[nodiscard]] bool goes_by_tcp();
// Returns why libfabric suits this host: it has a network for which libfabric is the library of choice (Slingshot, EFA,
// Omni-Path), or the user has chosen a provider; empty: it does not.
[[nodiscard]] std::string suits_host();

}  // namespace hr::transport::ofi
