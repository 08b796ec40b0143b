// Attributes of datatypes, and attributes of communicators through the MPI-1 functions: values, callbacks, and freed
// keys.
#include "../common/check.hpp"

namespace {

struct Calls {
  int copies = 0, deletes = 0, copy_result = MPI_SUCCESS, delete_result = MPI_SUCCESS;
  int last_key = MPI_KEYVAL_INVALID;
  void* last_value = nullptr;
  bool passes_on = true;
};

int marks[2];

// Copies the attribute: the copy has the second mark.
int copy(Calls& calls, int key, void* in, void* out, int* flag) {
  ++calls.copies;
  calls.last_key = key;
  calls.last_value = in;
  *flag = calls.passes_on ? 1 : 0;
  *static_cast<void**>(out) = &marks[1];
  return calls.copy_result;
}

int remove(Calls& calls, int key, void* value) {
  ++calls.deletes;
  calls.last_key = key;
  calls.last_value = value;
  return calls.delete_result;
}

int copy_of_type(MPI_Datatype, int key, void* extra, void* in, void* out, int* flag) {
  return copy(*static_cast<Calls*>(extra), key, in, out, flag);
}
int delete_of_type(MPI_Datatype, int key, void* value, void* extra) {
  return remove(*static_cast<Calls*>(extra), key, value);
}
int copy_of_comm(MPI_Comm, int key, void* extra, void* in, void* out, int* flag) {
  return copy(*static_cast<Calls*>(extra), key, in, out, flag);
}
int delete_of_comm(MPI_Comm, int key, void* value, void* extra) {
  return remove(*static_cast<Calls*>(extra), key, value);
}

void expect(int line, const Calls& calls, int key, int copies, int deletes, const void* value) {
  check::equal(__FILE__, line, "copies", calls.copies, copies);
  check::equal(__FILE__, line, "deletes", calls.deletes, deletes);
  check::equal(__FILE__, line, "the key", calls.last_key, key);
  check::equal(__FILE__, line, "the value", static_cast<const void*>(calls.last_value), value);
}
#define EXPECT(...) expect(__LINE__, __VA_ARGS__)

// Returns the value of the attribute, or nullptr if there is none.
void* of(MPI_Datatype type, int key) {
  void* value = &marks;
  int flag = -7;
  CHECK_OK(MPI_Type_get_attr(type, key, &value, &flag));
  CHECK(flag == 0 || flag == 1);
  return flag == 1 ? value : nullptr;
}
void* of(MPI_Comm comm, int key) {
  void* value = &marks;
  int flag = -7;
  CHECK_OK(MPI_Attr_get(comm, key, &value, &flag));
  CHECK(flag == 0 || flag == 1);
  return flag == 1 ? value : nullptr;
}

void types() {
  Calls calls;
  int key = MPI_KEYVAL_INVALID;
  CHECK_OK(MPI_Type_create_keyval(copy_of_type, delete_of_type, &key, &calls));
  CHECK(key != MPI_KEYVAL_INVALID);
  MPI_Datatype type = MPI_DATATYPE_NULL, twin = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_Type_contiguous(3, MPI_INT, &type));
  CHECK(of(type, key) == nullptr);
  CHECK_OK(MPI_Type_set_attr(type, key, &marks[0]));
  CHECK(of(type, key) == &marks[0]);
  CHECK_OK(MPI_Type_dup(type, &twin));
  CHECK(twin != MPI_DATATYPE_NULL);
  EXPECT(calls, key, 1, 0, &marks[0]);
  CHECK(of(twin, key) == &marks[1]);
  CHECK_OK(MPI_Type_delete_attr(twin, key));
  EXPECT(calls, key, 1, 1, &marks[1]);
  CHECK(of(twin, key) == nullptr);
  CHECK_OK(MPI_Type_free(&twin));
  CHECK(twin == MPI_DATATYPE_NULL);
  calls.passes_on = false;
  CHECK_OK(MPI_Type_dup(type, &twin));
  CHECK(of(twin, key) == nullptr);
  CHECK_OK(MPI_Type_free(&twin));
  EXPECT(calls, key, 2, 1, &marks[0]);

  // The program can no longer use the key, but an existing attribute keeps its callbacks.
  const int old = key;
  CHECK_OK(MPI_Type_free_keyval(&key));
  CHECK_EQ(key, MPI_KEYVAL_INVALID);
  CHECK_OK(MPI_Type_free(&type));
  EXPECT(calls, old, 2, 2, &marks[0]);
}

void comms() {
  Calls calls;
  int key = MPI_KEYVAL_INVALID;
  CHECK_OK(MPI_Keyval_create(copy_of_comm, delete_of_comm, &key, &calls));
  CHECK(key != MPI_KEYVAL_INVALID);
  MPI_Comm comm = MPI_COMM_NULL, twin = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  CHECK(of(comm, key) == nullptr);
  CHECK_OK(MPI_Attr_put(comm, key, &marks[0]));
  CHECK(of(comm, key) == &marks[0]);
  CHECK_OK(MPI_Comm_dup(comm, &twin));
  EXPECT(calls, key, 1, 0, &marks[0]);
  CHECK(of(twin, key) == &marks[1]);
  CHECK_OK(MPI_Attr_delete(twin, key));
  EXPECT(calls, key, 1, 1, &marks[1]);
  CHECK(of(twin, key) == nullptr);
  CHECK_OK(MPI_Comm_free(&twin));

  // The call returns the delete function's error code; the attribute stays.
  CHECK_OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  calls.delete_result = MPI_ERR_OTHER;
  CHECK_CLASS(MPI_Attr_delete(comm, key), MPI_ERR_OTHER);
  CHECK_EQ(calls.deletes, 2);
  calls.delete_result = MPI_SUCCESS;

  const int old = key;
  CHECK_OK(MPI_Keyval_free(&key));
  CHECK_EQ(key, MPI_KEYVAL_INVALID);
  CHECK_OK(MPI_Comm_free(&comm));
  EXPECT(calls, old, 1, 3, &marks[0]);
}

// Uses the predefined callbacks of the standard.
void plain() {
  int key = MPI_KEYVAL_INVALID;
  CHECK_OK(MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &key, nullptr));
  CHECK(key != MPI_KEYVAL_INVALID);
  MPI_Comm comm = MPI_COMM_NULL, twin = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  CHECK_OK(MPI_Attr_put(comm, key, &marks[0]));
  CHECK_OK(MPI_Comm_dup(comm, &twin));
  CHECK(of(twin, key) == &marks[0]);
  CHECK_OK(MPI_Comm_free(&twin));
  CHECK_OK(MPI_Comm_free(&comm));
  CHECK_OK(MPI_Keyval_free(&key));
  CHECK_EQ(key, MPI_KEYVAL_INVALID);
  int* limit = nullptr;
  int flag = -7;
  CHECK_OK(MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &flag));
  CHECK_EQ(flag, 1);
  CHECK(limit != nullptr && *limit >= 32767);
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  types();
  comms();
  plain();
}
