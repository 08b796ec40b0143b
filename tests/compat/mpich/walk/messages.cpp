// Messages: statuses, requests, probes, sentinels.
#include "walk.hpp"

namespace walk {

void statuses() {
  MPI_Status status;
  std::memset(&status, 0x55, sizeof status);
  int value = 42, count = -1, flag = -1;
  CHECK_OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
  CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);
  CHECK_EQ(status.MPI_ERROR, 0x55555555);  // a single completion does not change it
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 0);

  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  CHECK_EQ(status.MPI_TAG, MPI_ANY_TAG);

  const int right = (rank + 1) % size;
  short out[3] = {1, 2, 3}, in[8];
  CHECK_OK(MPI_Sendrecv(out, 3, MPI_SHORT, right, 17, in, 8, MPI_SHORT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                        &status));
  CHECK_EQ(status.MPI_SOURCE, (rank + size - 1) % size);
  CHECK_EQ(status.MPI_TAG, 17);
  CHECK_EQ(status.count_lo, 6);
  CHECK_OK(MPI_Get_count(&status, MPI_SHORT, &count));
  CHECK_EQ(count, 3);
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, MPI_UNDEFINED);
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQ(flag, 0);

  // The 63 bits of the count, and the adjacent bit.
  MPI_Status unwritten;
  std::memset(&unwritten, 0x80, sizeof unwritten);
  CHECK_OK(MPI_Status_set_elements(&unwritten, MPI_INT, 3));
  CHECK_EQ(unwritten.count_lo, 12);
  CHECK_EQ(unwritten.MPI_SOURCE, static_cast<int>(0x80808080));
  const MPI_Count large = (MPI_Count{1} << 40) + 5;
  MPI_Count found = 0;
  CHECK_OK(MPI_Status_set_elements_x(&status, MPI_BYTE, large));
  CHECK_OK(MPI_Status_set_cancelled(&status, 1));
  CHECK_OK(MPI_Get_elements_x(&status, MPI_BYTE, &found));
  CHECK_EQ(found, large);
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQ(flag, 1);
  CHECK_EQ(status.count_lo, 5);
  CHECK_EQ(status.count_hi_and_cancelled, (1 << 8) << 1 | 1);

  // Values that the program stored in a status keep their meaning.
#if MPI_VERSION > 4 || MPI_SUBVERSION > 0
  int source = 0, tag = 0, error = 0;
  status.MPI_SOURCE = -4;
  status.MPI_ERROR = 333;
  CHECK_OK(MPI_Status_set_tag(&status, -7));
  CHECK_EQ(status.MPI_SOURCE, -4);
  CHECK_EQ(status.MPI_ERROR, 333);
  CHECK_OK(MPI_Status_get_source(&status, &source));
  CHECK_OK(MPI_Status_get_tag(&status, &tag));
  CHECK_OK(MPI_Status_get_error(&status, &error));
  CHECK_EQ(source, -4);
  CHECK_EQ(tag, -7);
  CHECK_EQ(error, 333);
#endif

  MPI_Fint fortran[5];
  MPI_Status back;
  CHECK_OK(MPI_Status_c2f(&status, fortran));
  CHECK_EQ(fortran[3], status.MPI_TAG);
  CHECK_OK(MPI_Status_f2c(fortran, &back));
  CHECK_EQ(std::memcmp(&back, &status, sizeof back), 0);
}

void requests() {
  // More requests of all kinds than fit into a frame; none may remain.
  constexpr int kMany = 200;
  std::vector<int> out(kMany), in(kMany, -1);
  std::vector<MPI_Request> all(2 * kMany, MPI_REQUEST_NULL);
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  for (int i = 0; i < kMany; ++i) {
    out[i] = 1000 * rank + i;
    if (i % 7 == 3) continue;  // stays null
    CHECK_OK(MPI_Irecv(&in[i], 1, MPI_INT, left, i, MPI_COMM_WORLD, &all[i]));
    CHECK_OK(MPI_Isend(&out[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &all[kMany + i]));
    CHECK(all[i] != all[kMany + i]);
  }
  std::vector<MPI_Status> states(all.size());
  CHECK_OK(MPI_Waitall(2 * kMany, all.data(), states.data()));
  for (const MPI_Request request : all) CHECK_EQ(request, MPI_REQUEST_NULL);
  for (int i = 0; i < kMany; ++i) {
    CHECK_EQ(in[i], i % 7 == 3 ? -1 : 1000 * left + i);
    if (i % 7 != 3) CHECK_EQ(states[i].MPI_TAG, i);
  }

  // Persistent requests keep their number.
  MPI_Request persistent[2];
  CHECK_OK(MPI_Send_init(&out[0], 1, MPI_INT, right, 3, MPI_COMM_WORLD, &persistent[0]));
  CHECK_OK(MPI_Recv_init(&in[0], 1, MPI_INT, left, 3, MPI_COMM_WORLD, &persistent[1]));
  const MPI_Request before[2] = {persistent[0], persistent[1]};
  for (int round = 0; round < 3; ++round) {
    CHECK_OK(MPI_Startall(2, persistent));
    CHECK_OK(MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE));
    CHECK_EQ(persistent[0], before[0]);
    CHECK_EQ(persistent[1], before[1]);
  }
  CHECK_OK(MPI_Request_free(&persistent[0]));
  CHECK_OK(MPI_Request_free(&persistent[1]));
  CHECK_EQ(persistent[1], MPI_REQUEST_NULL);

  // Some, any, testall; statuses are set only for completed requests.
  MPI_Request two[2];
  CHECK_OK(MPI_Irecv(&in[0], 1, MPI_INT, rank, 50, MPI_COMM_WORLD, &two[0]));
  CHECK_OK(MPI_Irecv(&in[1], 1, MPI_INT, rank, 51, MPI_COMM_WORLD, &two[1]));
  int flag = -1, index = -1, number = -1, indices[2];
  MPI_Status state[2];
  std::memset(state, 0x55, sizeof state);
  CHECK_OK(MPI_Testsome(2, two, &number, indices, state));
  CHECK_EQ(number, 0);
  CHECK_EQ(state[0].MPI_SOURCE, 0x55555555);
  CHECK_OK(MPI_Testall(2, two, &flag, state));
  CHECK_EQ(flag, 0);
  CHECK_OK(MPI_Send(&rank, 1, MPI_INT, rank, 51, MPI_COMM_WORLD));
  CHECK_OK(MPI_Waitany(2, two, &index, &state[0]));
  CHECK_EQ(index, 1);
  CHECK_EQ(two[1], MPI_REQUEST_NULL);
  CHECK(two[0] != MPI_REQUEST_NULL);
  CHECK_OK(MPI_Cancel(&two[0]));
  CHECK_OK(MPI_Wait(&two[0], &state[0]));
  CHECK_OK(MPI_Test_cancelled(&state[0], &flag));
  CHECK_EQ(flag, 1);

  // Errors of several requests: MPI_ERROR contains MPICH's numbers.
  char small = 0;
  CHECK_OK(MPI_Irecv(&small, 1, MPI_CHAR, rank, 60, MPI_COMM_SELF == MPI_COMM_WORLD ? 0 : MPI_COMM_WORLD, &two[0]));
  CHECK_OK(MPI_Irecv(&in[1], 1, MPI_INT, rank, 61, MPI_COMM_WORLD, &two[1]));
  CHECK_OK(MPI_Send(&out[0], 1, MPI_INT, rank, 60, MPI_COMM_WORLD));
  CHECK_OK(MPI_Send(&out[0], 1, MPI_INT, rank, 61, MPI_COMM_WORLD));
  CHECK_CLASS(MPI_Waitall(2, two, state), MPI_ERR_IN_STATUS);
  CHECK_EQ(check::error_class(state[0].MPI_ERROR), MPI_ERR_TRUNCATE);
  CHECK_EQ(state[1].MPI_ERROR, MPI_SUCCESS);
}

void probes() {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  int flag = -1, value = -1;
  CHECK_OK(MPI_Improbe(rank, 70, MPI_COMM_WORLD, &flag, &message, &status));
  CHECK_EQ(flag, 0);
  CHECK_OK(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status));
  CHECK_EQ(message, MPI_MESSAGE_NO_PROC);
  CHECK_OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
  CHECK_EQ(message, MPI_MESSAGE_NULL);
  MPI_Request request;
  CHECK_OK(MPI_Isend(&rank, 1, MPI_INT, rank, 70, MPI_COMM_WORLD, &request));
  CHECK_OK(MPI_Mprobe(MPI_ANY_SOURCE, 70, MPI_COMM_WORLD, &message, &status));
  CHECK_EQ(status.MPI_SOURCE, rank);
  CHECK_OK(MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
  CHECK_EQ(message, MPI_MESSAGE_NULL);
  CHECK_EQ(value, rank);
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

void sentinels() {
  int sum = rank + 1;
  CHECK_OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  CHECK_EQ(sum, size * (size + 1) / 2);

  int absolute = 77;
  MPI_Aint address = 0, in_place = 0;
  MPI_Datatype type;
  const int one = 1;
  CHECK_OK(MPI_Get_address(&absolute, &address));
  CHECK_OK(MPI_Get_address(MPI_IN_PLACE, &in_place));
  CHECK_EQ(in_place, -1);
  CHECK_OK(MPI_Type_create_hindexed(1, &one, &address, MPI_INT, &type));
  CHECK_OK(MPI_Type_commit(&type));
  int got = 0;
  CHECK_OK(MPI_Sendrecv(MPI_BOTTOM, 1, type, rank, 1, &got, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(got, 77);
  CHECK_OK(MPI_Type_free(&type));

  // Exactly the size that MPICH's constant requires.
  std::vector<char> buffer(3 * (4 + MPI_BSEND_OVERHEAD));
  CHECK_OK(MPI_Buffer_attach(buffer.data(), static_cast<int>(buffer.size())));
  for (int i = 0; i < 3; ++i) CHECK_OK(MPI_Bsend(&i, 1, MPI_INT, rank, 5, MPI_COMM_WORLD));
  for (int i = 0; i < 3; ++i) CHECK_OK(MPI_Recv(&got, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  void* detached = nullptr;
  int bytes = 0;
  CHECK_OK(MPI_Buffer_detach(&detached, &bytes));
  CHECK(detached == buffer.data());
#ifdef MPI_BUFFER_AUTOMATIC
  CHECK_OK(MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0));
  CHECK_OK(MPI_Buffer_detach(&detached, &bytes));
  CHECK(detached == MPI_BUFFER_AUTOMATIC);
#endif
}

}  // namespace walk
