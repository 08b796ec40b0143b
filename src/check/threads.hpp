// Threads: checks which of the program's threads call MPI (MPI 5.0 section 11.6.2). Used only by check/ and bind/.
#pragma once

namespace hr::check {

// Called in MPI_Init and MPI_Init_thread with the level granted to the calling thread (MPI_THREAD_*). Threads: library
// lock.
void allow_threads(int level);

}  // namespace hr::check
