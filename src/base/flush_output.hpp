// What the program has printed and C's, C++'s and Fortran's libraries still keep goes out, before a process ends
// without its exit handlers. Threads: any.
#pragma once

namespace hr {

// Returns within about two seconds, whoever has the locks of the streams, and whether anyone reads.
[[gnu::cold]] void flush_output() noexcept;

}  // namespace hr
