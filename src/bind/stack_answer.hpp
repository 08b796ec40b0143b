// Reports a thread's call stack to our mpiexec, when it asks (base/stack_request.hpp): for jobs that hang.
//
// A signal handler, which stays until the process ends: a rank may hang after MPI_Finalize as well. A program that
// handles the signal itself, or has ignored it, keeps it. Threads: only from bring-up of the library.
#pragma once

namespace hr::bind::stack_answer {

void listen() noexcept;

}  // namespace hr::bind::stack_answer
