// Flushes the program's output that the C, C++ and Fortran libraries still buffer, before a process ends without its
// exit handlers. Threads: any.
#pragma once

namespace hr {

// Returns within about two seconds, even if other threads hold the locks of the streams, or the output is not read.
[[gnu::cold]] void flush_output() noexcept;

}  // namespace hr
