/* Handles that are not freed: a communicator, three datatypes of one line, a receive that is never completed. */
/* EXPECT leak: 1 MPI_Comm of MPI_Comm_dup at {comm}\(main\) is not given back before MPI_Finalize; free with
 * MPI_Comm_free */
/* EXPECT leak: 3 MPI_Datatype of MPI_Type_contiguous at {type}\(main\) are not given back */
/* EXPECT leak: 1 MPI_Info of MPI_Info_create at {info} */
/* EXPECT leak: 1 MPI_Group of MPI_Comm_group at {group} */
/* EXPECT leak: 1 MPI_Win of MPI_Win_create at {win} */
/* EXPECT leak: 1 MPI_Request of MPI_Irecv at {request} */
#include <mpi.h>

#include "wrong.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm, freed;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm); /* HERE comm */
  MPI_Comm_dup(MPI_COMM_WORLD, &freed);
  MPI_Comm_free(&freed);
  for (int i = 0; i < 3; ++i) {
    MPI_Datatype type;
    MPI_Type_contiguous(i + 2, MPI_INT, &type); /* HERE type */
  }
  /* Predefined types must not be freed, even as parts of another type, so they are not leaks. */
  MPI_Datatype predefined, vector, inner;
  MPI_Type_create_f90_integer(9, &predefined);
  MPI_Type_vector(2, 1, 3, predefined, &vector);
  int integers[3];
  MPI_Aint addresses[1];
  MPI_Type_get_contents(vector, 3, 0, 1, integers, addresses, &inner);
  MPI_Type_free(&vector);
  MPI_Info info, copy;
  MPI_Info_create(&info); /* HERE info */
  MPI_Info_dup(info, &copy);
  MPI_Info_free(&copy);
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group); /* HERE group */
  MPI_Win win;
  MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win); /* HERE win */
  static int value;
  MPI_Request request, done;
  MPI_Irecv(&value, 1, MPI_INT, 0, 4711, MPI_COMM_WORLD, &request); /* HERE request */
  MPI_Ibarrier(MPI_COMM_WORLD, &done);
  MPI_Wait(&done, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
