/* The same in C, which has no streams of C++ but a library that has. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  printf("said before");
  MPI_Abort(MPI_COMM_WORLD, 3);
  return 0;
}
