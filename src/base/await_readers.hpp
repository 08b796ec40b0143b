// Waits until the standard output of a process that is about to end has been read. Threads: any.
#pragma once

namespace hr {

// Returns once standard output and standard error, if they are pipes, are empty or have no reader any more, or after
// `seconds`. Other writers of the pipes may keep them full.
void await_readers(double seconds) noexcept;

}  // namespace hr
