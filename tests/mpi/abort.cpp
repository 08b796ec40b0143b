// Ends the job with MPI_Abort on one rank while all others wait. Arguments: the error code and the rank.
#include <cstdlib>

#include "common/check.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (check::world_rank() == std::atoi(argv[2])) MPI_Abort(MPI_COMM_WORLD, std::atoi(argv[1]));
  int never = 0;
  MPI_Recv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
}
