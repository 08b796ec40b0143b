/* The same in C: no C++ streams in the program, but in the library. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  printf("said before");
  MPI_Abort(MPI_COMM_WORLD, 3);
  return 0;
}
