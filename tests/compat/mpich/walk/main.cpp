// Everything that libmpi.so.12 translates, seen by a program compiled with MPICH's mpicxx: handles, constants,
// sentinels, statuses, callbacks, attributes, error codes. The values are those of MPICH's own mpi.h. Any number of
// ranks.
#include "walk.hpp"

int main(int argc, char** argv) {
  using namespace walk;
  int level = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  datatypes();
  numbers_are_used_again();
  null_and_wrong_handles();
  communicators();
  topologies();
  statuses();
  requests();
  probes();
  sentinels();
  operations();
  attributes();
  error_handlers();
  error_codes();
  generalized_requests();
  contents();
  environment();
  tools();
  windows();
  profiling_names();
  if (check::headrace()) too_many_operations();
  if (rank == 0) std::puts("walked");
  return MPI_Finalize();
}
