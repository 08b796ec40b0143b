// Sends a thread's call stack to Headrace's mpiexec on request (base/stack_request.hpp), for jobs that hang.
//
// The work is done by a signal handler, which stays installed until the process ends, as a rank may also hang after
// MPI_Finalize. If the program handles or ignores the signal, none is installed. Threads: called only while the library
// is brought up.
#pragma once

namespace hr::bind::stack_answer {

void listen() noexcept;

}  // namespace hr::bind::stack_answer
