// Threads: checks which of the program's threads may call MPI (MPI 5.0 section 11.6.2). Internal to check/, but for
// bind/.
#pragma once

namespace hr::check {

// Called in MPI_Init, MPI_Init_thread: MPI_THREAD_*, granted to the calling thread. Threads: library lock.
void allow_threads(int level);

}  // namespace hr::check
