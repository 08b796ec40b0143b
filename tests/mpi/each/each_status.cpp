// Fields of a status that the program sets, and generalized requests, which the program completes.
#include <cstring>

#include "../common/check.hpp"

namespace {

void fields() {
  MPI_Status status;
  std::memset(&status, 0x5a, sizeof status);
  CHECK_OK(MPI_Status_set_source(&status, 17));
  CHECK_OK(MPI_Status_set_tag(&status, 18));
  CHECK_OK(MPI_Status_set_error(&status, MPI_ERR_TRUNCATE));
  CHECK_EQ(status.MPI_SOURCE, 17);
  CHECK_EQ(status.MPI_TAG, 18);
  CHECK_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
  int source = -7, tag = -7, error = -7;
  CHECK_OK(MPI_Status_get_source(&status, &source));
  CHECK_OK(MPI_Status_get_tag(&status, &tag));
  CHECK_OK(MPI_Status_get_error(&status, &error));
  CHECK_EQ(source, 17);
  CHECK_EQ(tag, 18);
  CHECK_EQ(error, MPI_ERR_TRUNCATE);

  int flag = -7, count = -7;
  CHECK_OK(MPI_Status_set_cancelled(&status, 1));
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQ(flag, 1);
  CHECK_OK(MPI_Status_set_cancelled(&status, 0));
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQ(flag, 0);
  CHECK_OK(MPI_Status_set_elements(&status, MPI_INT, 5));
  CHECK_OK(MPI_Get_elements(&status, MPI_INT, &count));
  CHECK_EQ(count, 5);
}

// The status of a received message, as set by the library.
void received(const check::Environment& mpi) {
  const int to = (mpi.rank + 1) % mpi.size, from = (mpi.rank + mpi.size - 1) % mpi.size;
  int in = -1, source = -7, tag = -7;
  MPI_Status status;
  CHECK_OK(MPI_Sendrecv(&mpi.rank, 1, MPI_INT, to, 30 + mpi.rank, &in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG,
                        MPI_COMM_WORLD, &status));
  CHECK_OK(MPI_Status_get_source(&status, &source));
  CHECK_OK(MPI_Status_get_tag(&status, &tag));
  CHECK_EQ(in, from);
  CHECK_EQ(source, from);
  CHECK_EQ(tag, 30 + from);
}

struct Work {
  int queries = 0, frees = 0, cancels = 0, complete = -7, result = MPI_SUCCESS;
};

int query(void* state, MPI_Status* status) {
  Work& work = *static_cast<Work*>(state);
  ++work.queries;
  MPI_Status_set_source(status, 21);
  MPI_Status_set_tag(status, 22);
  MPI_Status_set_elements(status, MPI_INT, 23);
  MPI_Status_set_cancelled(status, work.cancels > 0);
  return work.result;
}

int release(void* state) {
  ++static_cast<Work*>(state)->frees;
  return MPI_SUCCESS;
}

int cancel(void* state, int complete) {
  Work& work = *static_cast<Work*>(state);
  ++work.cancels;
  work.complete = complete;
  return MPI_SUCCESS;
}

MPI_Request start(Work& work) {
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_Grequest_start(query, release, cancel, &work, &request));
  CHECK(request != MPI_REQUEST_NULL);
  return request;
}

void expect(const Work& work, const MPI_Status& status, int cancelled) {
  CHECK_EQ(work.queries, 1);
  CHECK_EQ(work.frees, 1);
  CHECK_EQ(status.MPI_SOURCE, 21);
  CHECK_EQ(status.MPI_TAG, 22);
  int count = -7, flag = -7;
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 23);
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQ(flag, cancelled);
}

// A test finds nothing until the program reports the work as done.
void by_hand() {
  Work work;
  MPI_Request request = start(work);
  MPI_Status status;
  std::memset(&status, 0x5a, sizeof status);
  int flag = -7;
  CHECK_OK(MPI_Test(&request, &flag, &status));
  CHECK_EQ(flag, 0);
  CHECK_EQ(work.queries, 0);
  CHECK_OK(MPI_Grequest_complete(request));
  CHECK_EQ(work.frees, 0);
  CHECK_OK(MPI_Test(&request, &flag, &status));
  CHECK_EQ(flag, 1);
  CHECK(request == MPI_REQUEST_NULL);
  expect(work, status, 0);

  Work again;
  request = start(again);
  CHECK_OK(MPI_Cancel(&request));
  CHECK_EQ(again.cancels, 1);
  CHECK_EQ(again.complete, 0);
  CHECK_OK(MPI_Grequest_complete(request));
  std::memset(&status, 0x5a, sizeof status);
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK(request == MPI_REQUEST_NULL);
  expect(again, status, 1);
}

// The wait returns the query function's error code.
void query_fails() {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  Work work;
  work.result = MPI_ERR_IO;
  MPI_Request request = start(work);
  CHECK_OK(MPI_Grequest_complete(request));
  MPI_Status status;
  CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_IO);
  CHECK_EQ(work.queries, 1);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

// The free function's error code is also returned, from the call that invokes this function: MPI_Wait, or
// MPI_Grequest_complete if the handle has been freed.
void free_fails() {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  for (const bool freed_before : {false, true}) {
    int calls = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    CHECK_OK(MPI_Grequest_start([](void*, MPI_Status*) { return MPI_SUCCESS; },
                                [](void* state) { return ++*static_cast<int*>(state), MPI_ERR_IO; },
                                [](void*, int) { return MPI_SUCCESS; }, &calls, &request));
    const MPI_Request handle = request;
    if (freed_before) {
      CHECK_OK(MPI_Request_free(&request));
      CHECK_EQ(calls, 0);
      CHECK_CLASS(MPI_Grequest_complete(handle), MPI_ERR_IO);
    } else {
      CHECK_OK(MPI_Grequest_complete(handle));
      CHECK_EQ(calls, 0);
      CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_IO);
    }
    CHECK_EQ(calls, 1);
    CHECK(request == MPI_REQUEST_NULL);
  }
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  fields();
  received(mpi);
  by_hand();
  query_fails();
  free_fails();
}
