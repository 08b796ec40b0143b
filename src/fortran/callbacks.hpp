// Fortran procedures that MPI calls: each callback type of C has a function here that calls the program's procedure
// with Fortran's conventions (handles as integers, everything by reference, logicals as the compiler represents them).
//
// If MPI passes extra_state, it is a Procedures object. If it does not (operations, error handlers), the procedure is
// identified by the C function itself or by the handle.
#pragma once

#include "mpi.h"

namespace hr::fortran {

using Procedure = void (*)();  // pointer to a procedure with any interface

// Procedures of one keyval, request or data representation, in the order of the call's arguments, and their
// extra_state.
struct Procedures {
  Procedure procedure[3] = {};
  MPI_Aint extra_state = 0;
  bool small = false;  // attributes and extra_state are default integers (the deprecated functions)
};

// Returns the C callback of type Function, for procedure kPlace in Procedures.
template <class Function, int kPlace>
Function* trampoline(Procedure procedure);

// Returns the C user function for an operation; nullptr if kOperations different functions are already in use.
inline constexpr int kOperations = 256;
MPI_User_function* user_function(Procedure procedure);
MPI_User_function_c* user_function_c(Procedure procedure);

// An error handler's procedure is looked up by the handle that the creating call returned.
void comm_handler(MPI_Comm* comm, int* code, ...);
void win_handler(MPI_Win* win, int* code, ...);
void file_handler(MPI_File* file, int* code, ...);
void session_handler(MPI_Session* session, int* code, ...);
void note_handler(MPI_Errhandler handler, Procedure procedure);

// Attributes (MPI 5.0 section 19.3.7). Fortran stores an integer; C sees the address of one.
void* attribute_for_c(MPI_Aint value);
void* small_attribute_for_c(int value);
MPI_Aint attribute_for_fortran(int keyval, void* value);

}  // namespace hr::fortran
