// Text of `mpiexec --help`.
#pragma once

namespace hr::launcher {

inline constexpr const char* kUsage =
    "Usage: mpiexec [-n ranks] [options] program [arguments] [: [-n ranks] [options] program [arguments]]...\n";

void print_help();

}  // namespace hr::launcher
