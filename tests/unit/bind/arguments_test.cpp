// Errors for invalid arguments: the class is correct, and the message names the function, the argument and the value.
#include "check.hpp"

namespace hr::test {
namespace {

int value = 1;

TEST(Arguments, Ranks) {
  expect_error(MPI_Send(&value, 1, MPI_INT, 9, 0, MPI_COMM_WORLD), MPI_ERR_RANK,
               "MPI_Send: MPI_ERR_RANK: dest is 9, but the communicator has only rank 0 (MPI_COMM_WORLD)");
  expect_error(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK, "dest is -1");
  expect_error(MPI_Recv(&value, 1, MPI_INT, -7, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK, "source is -7");
  expect_error(MPI_Bcast(&value, 1, MPI_INT, 5, MPI_COMM_WORLD), MPI_ERR_ROOT, "MPI_Bcast: MPI_ERR_ROOT: root is 5");
  expect_error(MPI_Bcast(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_COMM_WORLD), MPI_ERR_ROOT, "root is -3");
  EXPECT_EQ(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
}

TEST(Arguments, SpecialAddressesHaveAddresses) {
  MPI_Aint address = -1;
  EXPECT_EQ(MPI_Get_address(MPI_IN_PLACE, &address), MPI_SUCCESS);
  EXPECT_EQ(address, 1);
  EXPECT_EQ(MPI_Get_address(MPI_BOTTOM, &address), MPI_SUCCESS);
  EXPECT_EQ(address, 0);
}

TEST(Arguments, Tags) {
  expect_error(MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), MPI_ERR_TAG, "tag is -5");
  expect_error(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG,
               "MPI_ANY_TAG is for receives");
  expect_error(MPI_Recv(&value, 1, MPI_INT, 0, -3, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TAG, "tag is -3");
}

TEST(Arguments, Counts) {
  expect_error(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT,
               "MPI_Send: MPI_ERR_COUNT: count is -1");
  expect_error(MPI_Send_c(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT, "MPI_Send_c: MPI_ERR_COUNT");
  expect_error(MPI_Waitall(-2, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_COUNT, "count is -2");
  MPI_Datatype type = MPI_DATATYPE_NULL;
  expect_error(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT, "count is -1");
}

TEST(Arguments, Buffers) {
  expect_error(MPI_Send(nullptr, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "MPI_Send: MPI_ERR_BUFFER");
  expect_error(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "buf is MPI_IN_PLACE");
  expect_error(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER, "buffer is MPI_IN_PLACE");
}

TEST(Arguments, NullPointers) {
  expect_error(MPI_Comm_rank(MPI_COMM_WORLD, nullptr), MPI_ERR_ARG,
               "MPI_Comm_rank: MPI_ERR_ARG: rank is a null pointer");
  expect_error(MPI_Isend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, nullptr), MPI_ERR_ARG, "request is a null pointer");
  expect_error(MPI_Waitall(1, nullptr, MPI_STATUSES_IGNORE), MPI_ERR_ARG, "array_of_requests is a null pointer");
  EXPECT_EQ(MPI_Waitall(0, nullptr, MPI_STATUSES_IGNORE), MPI_SUCCESS);
  expect_error(MPI_Alltoallv(&value, nullptr, nullptr, MPI_INT, &value, nullptr, nullptr, MPI_INT, MPI_COMM_WORLD),
               MPI_ERR_ARG, "sendcounts is a null pointer");
}

TEST(Arguments, NullHandles) {
  expect_error(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM, "comm is MPI_COMM_NULL");
  expect_error(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE,
               "datatype is MPI_DATATYPE_NULL");
  expect_error(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP,
               "op is MPI_OP_NULL");
  int size = 0;
  expect_error(MPI_Group_size(MPI_GROUP_NULL, &size), MPI_ERR_GROUP, "group is MPI_GROUP_NULL");
  expect_error(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRHANDLER_NULL), MPI_ERR_ERRHANDLER, "MPI_ERRHANDLER_NULL");
  MPI_Info info = MPI_INFO_NULL;
  expect_error(MPI_Info_free(&info), MPI_ERR_INFO, "info is MPI_INFO_NULL");
}

TEST(Arguments, FreedAndForeignHandles) {
  MPI_Comm comm = MPI_COMM_NULL;
  ASSERT_EQ(MPI_Comm_dup(MPI_COMM_WORLD, &comm), MPI_SUCCESS);
  const MPI_Comm freed = comm;
  ASSERT_EQ(MPI_Comm_free(&comm), MPI_SUCCESS);
  EXPECT_EQ(comm, MPI_COMM_NULL);
  int rank = 0;
  expect_error(MPI_Comm_rank(freed, &rank), MPI_ERR_COMM, "not a live MPI_Comm");
  expect_error(MPI_Comm_rank(reinterpret_cast<MPI_Comm>(&value), &rank), MPI_ERR_COMM, "not a live MPI_Comm");
  // A handle of another type, and values that are not predefined handles.
  expect_error(MPI_Comm_rank(reinterpret_cast<MPI_Comm>(MPI_INT), &rank), MPI_ERR_COMM, "not a live MPI_Comm");
  expect_error(MPI_Type_size(reinterpret_cast<MPI_Datatype>(MPI_COMM_WORLD), &rank), MPI_ERR_TYPE,
               "not a live MPI_Datatype");

  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &type);
  expect_error(MPI_Send(&value, 0, type, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "datatype is not committed");
  MPI_Type_commit(&type);
  const MPI_Datatype freed_type = type;
  MPI_Type_free(&type);
  EXPECT_EQ(type, MPI_DATATYPE_NULL);
  expect_error(MPI_Send(&value, 0, freed_type, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE, "not a live MPI_Datatype");
}

TEST(Arguments, ElementsOfTypeArrays) {
  const int one = 1;
  const int zero = 0;
  const MPI_Datatype types[] = {MPI_INT};
  const MPI_Datatype bad[] = {MPI_DATATYPE_NULL};
  int in = 3;
  int out = 0;
  expect_error(MPI_Alltoallw(&in, &one, &zero, bad, &out, &one, &zero, types, MPI_COMM_WORLD), MPI_ERR_TYPE,
               "sendtypes[0] is MPI_DATATYPE_NULL");
  EXPECT_EQ(MPI_Alltoallw(&in, &zero, &zero, bad, &out, &zero, &zero, bad, MPI_COMM_WORLD), MPI_SUCCESS)
      << "the type of nothing does not matter";
  EXPECT_EQ(MPI_Alltoallw(&in, &one, &zero, types, &out, &one, &zero, types, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(out, 3);
}

TEST(Arguments, NotSignificantOnesMayBeAnything) {
  int gathered = 4;
  EXPECT_EQ(MPI_Gather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, &gathered, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(MPI_Scatter(&gathered, 1, MPI_INT, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, &gathered, 1, MPI_INT, MPI_COMM_WORLD), MPI_SUCCESS);
  EXPECT_EQ(gathered, 4);
}

TEST(Arguments, ResultsThatDoNotFit) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  ASSERT_EQ(MPI_Type_contiguous_c(MPI_Count{1} << 33, MPI_BYTE, &type), MPI_SUCCESS);
  ASSERT_EQ(MPI_Type_commit(&type), MPI_SUCCESS);
  int size = 0;
  EXPECT_EQ(MPI_Type_size(type, &size), MPI_SUCCESS);
  EXPECT_EQ(size, MPI_UNDEFINED);
  MPI_Count wide = 0;
  EXPECT_EQ(MPI_Type_size_c(type, &wide), MPI_SUCCESS);
  EXPECT_EQ(wide, MPI_Count{1} << 33);
  expect_error(MPI_Pack_size(1, type, MPI_COMM_WORLD, &size), MPI_ERR_VALUE_TOO_LARGE, "call MPI_Pack_size_c");
  MPI_Type_free(&type);
}

// Files have their own default handler, which returns (section 14.7).
TEST(Arguments, ErrorsOfFilesAreReturned) {
  MPI_File file = MPI_FILE_NULL;
  MPI_Comm loud = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &loud);
  MPI_Comm_set_errhandler(loud, MPI_ERRORS_ARE_FATAL);
  expect_error(MPI_File_open(loud, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE,
               "MPI_File_open");
  expect_error(MPI_File_open(MPI_COMM_NULL, "x", MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_COMM, "comm");
  expect_error(MPI_File_close(&file), MPI_ERR_FILE, "MPI_FILE_NULL");
  MPI_Comm_free(&loud);
}

int seen_code = MPI_SUCCESS;
MPI_Comm seen_comm = MPI_COMM_NULL;
void remember(MPI_Comm* comm, int* code, ...) {
  seen_comm = *comm;
  seen_code = *code;
}

TEST(Arguments, ErrorsAreRaisedOnTheCommunicatorAtHand) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  ASSERT_EQ(MPI_Comm_create_errhandler(remember, &handler), MPI_SUCCESS);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_set_errhandler(comm, handler);
  const int code = MPI_Send(&value, -1, MPI_INT, 0, 0, comm);
  EXPECT_EQ(seen_comm, comm);
  EXPECT_EQ(seen_code, code);
  EXPECT_EQ(class_of(code), MPI_ERR_COUNT);
  MPI_Comm_free(&comm);
  MPI_Errhandler_free(&handler);
}

}  // namespace
}  // namespace hr::test
