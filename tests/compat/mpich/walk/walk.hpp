// Declarations that all files of this program share. See main.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/check.hpp"

static_assert(sizeof(MPI_Comm) == 4 && sizeof(MPI_Status) == 20, "this test is for MPICH's mpi.h");

namespace walk {

inline int rank, size;  // in MPI_COMM_WORLD

// handles.cpp
void datatypes();
void numbers_are_used_again();
void null_and_wrong_handles();
void communicators();
void topologies();

// messages.cpp
void statuses();
void requests();
void probes();
void sentinels();

// callbacks.cpp
void operations();
void attributes();
void error_handlers();
void error_codes();
void generalized_requests();
// More functions than libmpi.so.12 can distinguish.
void too_many_operations();

// environment.cpp
void contents();
void environment();
void tools();
void windows();
void profiling_names();

}  // namespace walk
