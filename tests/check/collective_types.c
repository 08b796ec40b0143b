/* Reports of types that do not match show them; non-blocking collectives that fail for this reason report it. */
/* EXPECT check full: collective: members of the communicator give different signatures: .* in rank 0: MPI_Ibcast */
/* EXPECT check full: collective: members of the communicator give different signatures: .* in rank 1: MPI_Ibcast */
#include <mpi.h>

#include "wrong.h"

static int rank;

/* Requires an error of this class whose message contains both strings. */
static void expect(int line, int code, int class, const char* first, const char* second) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  if (class_of(code) == class && strstr(text, first) != NULL && strstr(text, second) != NULL) return;
  printf("line %d, rank %d: %s\n", line, rank, text);
  MPI_Abort(MPI_COMM_WORLD, 9);
}
#define EXPECT(call, class, first, second) expect(__LINE__, call, class, first, second)

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int size, data[8] = {0}, counts[2] = {1, 1}, places[2] = {0, 1};
  float reals[8] = {0};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  void* const mine = rank == 0 ? (void*)reals : (void*)data;
  const MPI_Datatype type = rank == 0 ? MPI_FLOAT : MPI_INT;
  EXPECT(MPI_Allgatherv(mine, 1, type, (char*)mine + 16, counts, places, type, MPI_COMM_WORLD), MPI_ERR_ARG,
         "{1, 1} x MPI_FLOAT", "{1, 1} x MPI_INT");
  EXPECT(MPI_Gatherv(mine, 1, type, (char*)mine + 16, counts, places, type, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
         "sends 1 x MPI_INT", "expects {1, 1} x MPI_FLOAT");
  EXPECT(MPI_Scatterv(mine, counts, places, type, (char*)mine + 16, 1, type, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
         "sends {1, 1} x MPI_FLOAT", "expects 1 x MPI_INT");
  EXPECT(MPI_Alltoallv(mine, counts, places, type, (char*)mine + 16, counts, places, type, MPI_COMM_WORLD),
         MPI_ERR_TYPE, "expects {1, 1} x MPI_INT", "expects {1, 1} x MPI_FLOAT");

  /* More data than the others have space for. */
  MPI_Request request;
  const int count = rank == 0 ? 8 : 2;
  MPI_Ibcast(data, count, MPI_INT, 0, MPI_COMM_WORLD, &request);
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (rank != 0) EXPECT(code, MPI_ERR_TYPE, "8 x MPI_INT", "2 x MPI_INT");
  MPI_Ibcast(data, 8, MPI_INT, 0, MPI_COMM_WORLD, &request);
  if (MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 9);
  MPI_Finalize();
  return 0;
}
