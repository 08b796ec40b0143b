// Caching: callbacks when a communicator is duplicated or freed, when an attribute is deleted, and in MPI_Finalize
// (section 7.7, 11.2.4).
#include <cstdint>
#include <cstdlib>

#include "ring.hpp"

namespace {

int copies = 0;
int deletions = 0;
int refuse = 0;

int copy(MPI_Comm, int, void* extra_state, void* value, void* new_value, int* flag) {
  ++copies;
  *static_cast<void**>(new_value) = static_cast<char*>(value) + 1;
  *flag = 1;
  return extra_state == &copies ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int forget(MPI_Comm comm, int, void*, void*) {
  int size = 0;
  CHECK_OK(MPI_Comm_size(comm, &size));  // the communicator still works
  ++deletions;
  return refuse != 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

void life() {
  int keyval = MPI_KEYVAL_INVALID;
  CHECK_OK(MPI_Comm_create_keyval(copy, forget, &keyval, &copies));
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  char values[4];
  CHECK_OK(MPI_Comm_set_attr(comm, keyval, values));
  const int number = keyval;
  CHECK_OK(MPI_Comm_free_keyval(&keyval));
  CHECK_EQ(keyval, MPI_KEYVAL_INVALID);
  MPI_Comm twin;
  CHECK_OK(MPI_Comm_dup(comm, &twin));  // the attribute of the freed keyval is still copied
  CHECK_EQ(copies, 1);
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  refuse = 1;
  CHECK_CLASS(MPI_Comm_free(&comm), MPI_ERR_OTHER);
  CHECK(comm != MPI_COMM_NULL);
  refuse = 0;
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Comm_free(&twin));
  CHECK_EQ(deletions, 3);
  void* found = nullptr;
  int flag = 0;
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_Comm_get_attr(MPI_COMM_SELF, number, &found, &flag), MPI_ERR_KEYVAL);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
}

void refused_copy() {
  int keyval = MPI_KEYVAL_INVALID;
  CHECK_OK(MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr));
  MPI_Comm comm;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_attr(comm, keyval, &comm));
  MPI_Comm none = MPI_COMM_NULL;
  CHECK_CLASS(MPI_Comm_dup(comm, &none), MPI_ERR_OTHER);
  CHECK(none == MPI_COMM_NULL);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_CLASS(MPI_Comm_idup(comm, &none, &request), MPI_ERR_OTHER);
  check::ring(comm, 1);
  CHECK_OK(MPI_Comm_delete_attr(comm, keyval));
  CHECK_OK(MPI_Comm_dup(comm, &none));
  check::ring(none, 2);
  CHECK_OK(MPI_Comm_free(&none));
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Comm_free_keyval(&keyval));
}

void predefined() {
  int* value = nullptr;
  int flag = 0;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag));
  CHECK(flag != 0 && *value >= 32767);
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag));
  CHECK(flag == 0 || *value == 0);
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
  CHECK(flag != 0 && *value >= MPI_ERR_LASTCODE);
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag));
  CHECK(flag != 0);
}

// MPI_Finalize first deletes the attributes of MPI_COMM_SELF, newest first, and MPI still works at that time.
int at_finalize = 0;
int finalizing(MPI_Comm, int, void* value, void* extra_state) {
  int rank = -1;
  if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS || rank < 0) std::abort();
  if (reinterpret_cast<std::uintptr_t>(value) != static_cast<std::uintptr_t>(3 - at_finalize++)) std::abort();
  if (extra_state != nullptr) std::abort();
  return MPI_SUCCESS;
}

void leave_for_finalize() {
  for (std::uintptr_t i = 1; i <= 3; ++i) {
    int keyval = MPI_KEYVAL_INVALID;
    CHECK_OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalizing, &keyval, nullptr));
    CHECK_OK(MPI_Comm_set_attr(MPI_COMM_SELF, keyval, reinterpret_cast<void*>(i)));
    CHECK_OK(MPI_Comm_free_keyval(&keyval));
  }
}

}  // namespace

int main(int argc, char** argv) {
  {
    const check::Environment mpi(&argc, &argv);
    life();
    refused_copy();
    predefined();
    leave_for_finalize();
  }
  return at_finalize == 3 ? 0 : 1;
}
