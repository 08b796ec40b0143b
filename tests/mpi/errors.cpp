// Errors for invalid input: the correct class and, in Headrace, a sentence that names the function, the argument and
// its value; reported through the communicator's error handler.
#include <string>
#include <vector>

#include "common/check.hpp"

namespace {

struct Expected {
  int error_class;
  const char* call;
  std::vector<std::string> words;  // words that the message must contain
};

void expect(int line, int code, const Expected& expected) {
  check::raises(__FILE__, line, expected.call, code, expected.error_class);
  if (!check::headrace()) return;
  const std::string sentence = check::error_text(code);
  for (const std::string& word : expected.words) {
    if (sentence.find(word) == std::string::npos) {
      check::fail(__FILE__, line,
                  std::string(expected.call) + ": the sentence '" + sentence + "' does not name '" + word + "'");
    }
  }
}
#define EXPECT(call, error_class, ...) expect(__LINE__, (call), {error_class, #call, {__VA_ARGS__}})

int value = 0;
MPI_Request request = MPI_REQUEST_NULL;
MPI_Status status;
const MPI_Comm world = MPI_COMM_WORLD;

void envelopes(int size) {
  const std::string outside = std::to_string(size);
  EXPECT(MPI_Send(&value, 1, MPI_INT, size, 0, world), MPI_ERR_RANK, "MPI_Send", "dest", outside);
  EXPECT(MPI_Send(&value, 1, MPI_INT, -7, 0, world), MPI_ERR_RANK, "MPI_Send", "dest", "-7");
  EXPECT(MPI_Isend(&value, 1, MPI_INT, size, 0, world, &request), MPI_ERR_RANK, "MPI_Isend", "dest", outside);
  EXPECT(MPI_Recv(&value, 1, MPI_INT, size + 3, 0, world, &status), MPI_ERR_RANK, "MPI_Recv", "source");
  EXPECT(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, world), MPI_ERR_RANK, "MPI_Send", "dest");
  EXPECT(MPI_Send(&value, 1, MPI_INT, 0, -5, world), MPI_ERR_TAG, "MPI_Send", "tag", "-5");
  EXPECT(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, world), MPI_ERR_TAG, "MPI_Send", "tag");
  EXPECT(MPI_Recv(&value, 1, MPI_INT, 0, -5, world, &status), MPI_ERR_TAG, "MPI_Recv", "tag", "-5");
  EXPECT(MPI_Irecv(&value, 1, MPI_INT, 0, -9, world, &request), MPI_ERR_TAG, "MPI_Irecv", "tag", "-9");
  EXPECT(MPI_Sendrecv(&value, 1, MPI_INT, size, 0, &value, 1, MPI_INT, 0, 0, world, &status), MPI_ERR_RANK,
         "MPI_Sendrecv", "dest");
  EXPECT(MPI_Probe(size, 0, world, &status), MPI_ERR_RANK, "MPI_Probe", "source");
}

void data() {
  EXPECT(MPI_Send(&value, -1, MPI_INT, 0, 0, world), MPI_ERR_COUNT, "MPI_Send", "count", "-1");
  EXPECT(MPI_Recv(&value, -2, MPI_INT, 0, 0, world, &status), MPI_ERR_COUNT, "MPI_Recv", "count", "-2");
  EXPECT(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, world), MPI_ERR_TYPE, "MPI_Send", "datatype");
  EXPECT(MPI_Send(nullptr, 1, MPI_INT, 0, 0, world), MPI_ERR_BUFFER, "MPI_Send", "buf");
  EXPECT(MPI_Recv(nullptr, 3, MPI_INT, 0, 0, world, &status), MPI_ERR_BUFFER, "MPI_Recv", "buf");
  MPI_Datatype pair;
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  int two[2] = {0, 0};
  EXPECT(MPI_Send(two, 1, pair, 0, 0, world), MPI_ERR_TYPE, "MPI_Send", "datatype", "commit");
  CHECK_OK(MPI_Type_free(&pair));
  EXPECT(MPI_Type_contiguous(-3, MPI_INT, &pair), MPI_ERR_COUNT, "MPI_Type_contiguous", "count", "-3");
  EXPECT(MPI_Type_free(&pair), MPI_ERR_TYPE, "MPI_Type_free");
}

void handles() {
  EXPECT(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM, "MPI_Send", "comm");
  int rank = 0;
  EXPECT(MPI_Comm_rank(MPI_COMM_NULL, &rank), MPI_ERR_COMM, "MPI_Comm_rank", "comm");
  EXPECT(MPI_Comm_rank(world, nullptr), MPI_ERR_ARG, "MPI_Comm_rank", "rank");
  EXPECT(MPI_Group_size(MPI_GROUP_NULL, &rank), MPI_ERR_GROUP, "MPI_Group_size", "group");
  EXPECT(MPI_Start(&request), MPI_ERR_REQUEST, "MPI_Start", "request");
  EXPECT(MPI_Request_free(&request), MPI_ERR_REQUEST, "MPI_Request_free", "request");
  EXPECT(MPI_Wait(nullptr, &status), MPI_ERR_ARG, "MPI_Wait", "request");
  if (!check::headrace()) return;  // other libraries may crash on these
  MPI_Comm gone;
  CHECK_OK(MPI_Comm_dup(world, &gone));
  const MPI_Comm kept = gone;
  CHECK_OK(MPI_Comm_free(&gone));
  EXPECT(MPI_Comm_rank(kept, &rank), MPI_ERR_COMM, "MPI_Comm_rank", "comm");
  MPI_Datatype type;
  CHECK_OK(MPI_Type_contiguous(2, MPI_INT, &type));
  CHECK_OK(MPI_Type_commit(&type));
  const MPI_Datatype freed = type;
  CHECK_OK(MPI_Type_free(&type));
  int two[2] = {0, 0};
  EXPECT(MPI_Send(two, 1, freed, 0, 0, world), MPI_ERR_TYPE, "MPI_Send", "datatype");
  EXPECT(MPI_Comm_rank(reinterpret_cast<MPI_Comm>(&value), &rank), MPI_ERR_COMM, "MPI_Comm_rank", "comm");
  EXPECT(MPI_Send(&value, 1, reinterpret_cast<MPI_Datatype>(MPI_COMM_WORLD), 0, 0, world), MPI_ERR_TYPE, "MPI_Send");
}

void collectives(int size) {
  std::vector<int> room(static_cast<std::size_t>(size) + 1);
  int* data = room.data();
  const std::string outside = std::to_string(size);
  EXPECT(MPI_Bcast(data, 1, MPI_INT, size, world), MPI_ERR_ROOT, "MPI_Bcast", "root", outside);
  EXPECT(MPI_Bcast(data, 1, MPI_INT, -2, world), MPI_ERR_ROOT, "MPI_Bcast", "root", "-2");
  EXPECT(MPI_Bcast(data, -4, MPI_INT, 0, world), MPI_ERR_COUNT, "MPI_Bcast", "count", "-4");
  EXPECT(MPI_Reduce(data, data + 1, 1, MPI_INT, MPI_SUM, size, world), MPI_ERR_ROOT, "MPI_Reduce", "root");
  EXPECT(MPI_Allreduce(data, &value, 1, MPI_INT, MPI_OP_NULL, world), MPI_ERR_OP, "MPI_Allreduce", "op");
  EXPECT(MPI_Gather(data, 1, MPI_INT, data, 1, MPI_INT, size, world), MPI_ERR_ROOT, "MPI_Gather", "root");
  if (!check::headrace()) return;
  EXPECT(MPI_Allreduce(data, data, 1, MPI_INT, MPI_SUM, world), MPI_ERR_BUFFER, "MPI_Allreduce");
  EXPECT(MPI_Allreduce(data, &value, 1, MPI_FLOAT, MPI_BAND, world), MPI_ERR_OP, "MPI_Allreduce");
}

int calls = 0, last_class = 0;
void count_calls(MPI_Comm* comm, int* code, ...) {
  ++calls;
  CHECK(*comm != MPI_COMM_NULL);
  last_class = check::error_class(*code);
}

// The error handler of the communicator argument is called; a duplicate inherits it.
void error_handlers() {
  MPI_Errhandler handler;
  CHECK_OK(MPI_Comm_create_errhandler(count_calls, &handler));
  MPI_Comm dup, again;
  CHECK_OK(MPI_Comm_dup(world, &dup));
  CHECK_OK(MPI_Comm_set_errhandler(dup, handler));
  CHECK_OK(MPI_Comm_dup(dup, &again));
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, -7, 0, dup), MPI_ERR_RANK);
  CHECK_EQ(calls, 1);
  CHECK_EQ(last_class, MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, -7, again), MPI_ERR_TAG);
  CHECK_EQ(calls, 2);
  CHECK_EQ(last_class, MPI_ERR_TAG);
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, -7, world), MPI_ERR_TAG);
  CHECK_EQ(calls, 2);
  CHECK_OK(MPI_Comm_free(&dup));
  CHECK_OK(MPI_Comm_free(&again));
  CHECK_OK(MPI_Errhandler_free(&handler));
}

// A message longer than the buffer is also reported through the handler.
void truncation(const check::Environment& mpi) {
  int out[3] = {1, 2, 3}, in[3] = {0, 0, 0};
  MPI_Request send;
  CHECK_OK(MPI_Isend(out, 3, MPI_INT, mpi.rank, 0, world, &send));
  EXPECT(MPI_Recv(in, 2, MPI_INT, mpi.rank, 0, world, &status), MPI_ERR_TRUNCATE, "MPI_Recv", "12", "8");
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  CHECK_EQ(in[2], 0);
}

// Functions without an implementation report that, and have no effect.
void codes() {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  for (int error_class = MPI_SUCCESS; error_class <= MPI_ERR_LASTCODE && error_class < 100; ++error_class) {
    if (MPI_Error_string(error_class, text, &length) == MPI_SUCCESS) CHECK(length > 0);
  }
  CHECK_CLASS(MPI_Error_string(MPI_ERR_RANK, text, nullptr), MPI_ERR_ARG);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  envelopes(mpi.size);
  data();
  handles();
  collectives(mpi.size);
  error_handlers();
  truncation(mpi);
  codes();
}
