// Sends a thread's call stack to Headrace's mpiexec on request (base/stack_request.hpp), for jobs that hang.
//
// A signal handler does this; it stays installed until the process ends, as a rank may also hang after MPI_Finalize. A
// signal that the program handles or ignores is left to it. Threads: called only while the library is brought up.
#pragma once

namespace hr::bind::stack_answer {

void listen() noexcept;

}  // namespace hr::bind::stack_answer
