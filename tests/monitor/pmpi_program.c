/* Sends messages known to the test, waits until the given file exists, and ends. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size;
  char *out = calloc(1, 1 << 20), *in = malloc(1 << 20);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  MPI_Request requests[2];

  MPI_Pcontrol(7);
  for (int i = 0; i < 10; ++i) { /* 10 messages of 800 bytes to the next */
    MPI_Irecv(in, 100, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 100, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Pcontrol(-3);

  /* Ranks in reverse order: 5 messages of 3 bytes to the one before; then the same with a persistent request. */
  MPI_Comm reverse;
  MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reverse);
  int place;
  MPI_Comm_rank(reverse, &place);
  for (int i = 0; i < 5; ++i)
    MPI_Sendrecv(out, 3, MPI_CHAR, (place + 1) % size, 2, in, 3, MPI_CHAR, (place + size - 1) % size, 2, reverse,
                 MPI_STATUS_IGNORE);
  MPI_Recv_init(in, 4, MPI_INT, (place + size - 1) % size, 3, reverse, &requests[0]);
  MPI_Send_init(out, 4, MPI_INT, (place + 1) % size, 3, reverse, &requests[1]);
  for (int i = 0; i < 6; ++i) { /* 6 messages of 16 bytes */
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
  MPI_Comm_free(&reverse);
  MPI_Send(out, 1, MPI_INT, MPI_PROC_NULL, 4, MPI_COMM_WORLD);

  /* The last rank is late: the others wait for it, and rank 0 only for it. */
  if (rank == size - 1) {
    usleep(1000000);
    MPI_Ssend(out, 1 << 20, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
  } else if (rank == 0) {
    MPI_Recv(in, 1 << 20, MPI_CHAR, size - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  while (access(argv[1], F_OK) != 0) usleep(10000);
  MPI_Finalize();
  return 0;
}
