/* Threads that call MPI at the level that the argument names: MPI_THREAD_SINGLE and FUNNELED do not allow it,
 * SERIALIZED and MULTIPLE do. Every call's result is checked; nothing is printed. */
#include <mpi.h>
#include <pthread.h>

#include "wrong.h"

static int by_thread, allowed;

static void* call(void* unused) {
  int data = 0, flag;
  MPI_Initialized(&flag); /* called by any thread, at any level */
  by_thread = MPI_Send(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
  return unused;
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    int level, allowed;
  } kLevels[] = {{"single", MPI_THREAD_SINGLE, 0},
                 {"funneled", MPI_THREAD_FUNNELED, 0},
                 {"serialized", MPI_THREAD_SERIALIZED, 1},
                 {"multiple", MPI_THREAD_MULTIPLE, 1}};
  int level = -1, provided, data, mine = 0, waits = 0;
  for (unsigned i = 0; i < 4; ++i) {
    if (argc < 2 || strcmp(argv[1], kLevels[i].name) != 0) continue;
    level = kLevels[i].level;
    allowed = kLevels[i].allowed;
  }
  if (level == MPI_THREAD_SINGLE) {
    MPI_Init(&argc, &argv);
  } else {
    MPI_Init_thread(&argc, &argv, level, &provided);
  }
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Request request;
  MPI_Irecv(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  for (int turn = 0; turn < 3; ++turn) {
    pthread_t thread;
    if (turn != 0) MPI_Irecv(&data, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
    pthread_create(&thread, NULL, call, NULL);
    pthread_join(thread, NULL);
    if ((by_thread == MPI_SUCCESS) != allowed) {
      printf("thread's call: %d, level %s\n", by_thread, argv[1]);
      MPI_Abort(MPI_COMM_WORLD, 9);
    }
    if (!allowed) MPI_Send(&mine, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
    waits += MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  return waits;
}
