// Flushes output that the program has printed and C's, C++'s and Fortran's libraries still keep, before a process ends
// without its exit handlers. Threads: any.
#pragma once

namespace hr {

// Returns within about two seconds, even if other threads hold the locks of the streams, or the output is not read.
[[gnu::cold]] void flush_output() noexcept;

}  // namespace hr
