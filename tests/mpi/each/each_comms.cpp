// Names and hints of communicators, error handlers that are queried and freed, and reduction operations.
#include <cstring>
#include <string>

#include "../common/check.hpp"

namespace {

std::string name_of(MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME];
  std::memset(name, '?', sizeof name);
  int length = -7;
  CHECK_OK(MPI_Comm_get_name(comm, name, &length));
  CHECK(length >= 0 && length < MPI_MAX_OBJECT_NAME);
  CHECK_EQ(name[length], '\0');
  CHECK_EQ(std::strlen(name), length);
  return name;
}

void names() {
  CHECK_EQ(name_of(MPI_COMM_WORLD), std::string("MPI_COMM_WORLD"));
  MPI_Comm copy = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  CHECK_EQ(name_of(copy), std::string());
  CHECK_OK(MPI_Comm_set_name(copy, "a copy"));
  CHECK_EQ(name_of(copy), std::string("a copy"));
  CHECK_OK(MPI_Comm_set_name(copy, ""));
  CHECK_EQ(name_of(copy), std::string());
  CHECK_EQ(name_of(MPI_COMM_WORLD), std::string("MPI_COMM_WORLD"));
  CHECK_OK(MPI_Comm_free(&copy));
}

// Returns the hint's value, or "-" if there is none.
std::string hint(MPI_Comm comm, const char* key) {
  MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Comm_get_info(comm, &info));
  CHECK(info != MPI_INFO_NULL);
  char value[20] = "?";
  int length = sizeof value, found = -7;
  CHECK_OK(MPI_Info_get_string(info, key, &length, value, &found));
  CHECK(found == 0 || found == 1);
  CHECK_OK(MPI_Info_free(&info));
  return found == 1 ? value : "-";
}

// Other libraries may omit any hint, and ignore those that are set.
void hints(const check::Environment& mpi) {
  MPI_Info info = MPI_INFO_NULL;
  CHECK_OK(MPI_Info_create(&info));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  MPI_Comm copy = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy));
  CHECK(copy != MPI_COMM_NULL);
  int result = -7;
  CHECK_OK(MPI_Comm_compare(copy, MPI_COMM_WORLD, &result));
  CHECK_EQ(result, MPI_CONGRUENT);
  int sum = 0;
  CHECK_OK(MPI_Allreduce(&mpi.rank, &sum, 1, MPI_INT, MPI_SUM, copy));
  CHECK_EQ(sum, mpi.size * (mpi.size - 1) / 2);
  const bool ours = check::headrace();
  const std::string first = hint(copy, "mpi_assert_no_any_tag");
  if (ours) CHECK_EQ(first, std::string("true"));
  CHECK_OK(MPI_Info_delete(info, "mpi_assert_no_any_tag"));
  CHECK_OK(MPI_Info_set(info, "mpi_assert_exact_length", "true"));
  CHECK_OK(MPI_Comm_set_info(copy, info));
  const std::string second = hint(copy, "mpi_assert_exact_length");
  if (ours) CHECK_EQ(second, std::string("true"));
  CHECK_OK(MPI_Info_free(&info));
  CHECK_OK(MPI_Comm_free(&copy));
}

int handled = 0, handled_code = MPI_SUCCESS;
MPI_Comm handled_comm = MPI_COMM_NULL;

void on_error(MPI_Comm* comm, int* code, ...) {
  ++handled;
  handled_comm = *comm;
  handled_code = *code;
}

// A freed handler works as long as a communicator uses it.
void handlers() {
  MPI_Comm copy = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL, found = MPI_ERRHANDLER_NULL;
  CHECK_OK(MPI_Comm_get_errhandler(copy, &found));
  CHECK(found == MPI_ERRORS_ARE_FATAL);
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK(found == MPI_ERRHANDLER_NULL);

  CHECK_OK(MPI_Comm_create_errhandler(on_error, &handler));
  CHECK(handler != MPI_ERRHANDLER_NULL);
  CHECK_OK(MPI_Comm_set_errhandler(copy, handler));
  CHECK_OK(MPI_Comm_get_errhandler(copy, &found));
  CHECK(found == handler);
  CHECK_OK(MPI_Errhandler_free(&found));
  CHECK(found == MPI_ERRHANDLER_NULL);
  CHECK_OK(MPI_Errhandler_free(&handler));
  CHECK(handler == MPI_ERRHANDLER_NULL);

  CHECK_OK(MPI_Comm_call_errhandler(copy, MPI_ERR_OTHER));
  CHECK_EQ(handled, 1);
  CHECK(handled_comm == copy);
  CHECK_EQ(check::error_class(handled_code), MPI_ERR_OTHER);
  CHECK_OK(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_get_errhandler(copy, &found));
  CHECK(found == MPI_ERRORS_RETURN);
  CHECK_OK(MPI_Comm_free(&copy));
}

// Appends digits: those of inout come last.
void append(void* in, void* inout, int* count, MPI_Datatype*) {
  const long* left = static_cast<const long*>(in);
  long* right = static_cast<long*>(inout);
  for (int i = 0; i < *count; ++i) {
    long places = 10;
    while (places <= right[i]) places *= 10;
    right[i] += left[i] * places;
  }
}

void operations(const check::Environment& mpi) {
  int answer = -7;
  CHECK_OK(MPI_Op_commutative(MPI_SUM, &answer));
  CHECK_EQ(answer, 1);
  answer = -7;
  CHECK_OK(MPI_Op_commutative(MPI_REPLACE, &answer));
  CHECK_EQ(answer, 0);
  for (int commutes = 0; commutes < 2; ++commutes) {
    MPI_Op op = MPI_OP_NULL;
    CHECK_OK(MPI_Op_create(append, commutes, &op));
    CHECK(op != MPI_OP_NULL);
    answer = -7;
    CHECK_OK(MPI_Op_commutative(op, &answer));
    CHECK_EQ(answer, commutes);
    if (commutes == 0) {
      long own = mpi.rank + 1, all = -7, wanted = 0;
      for (int rank = 0; rank < mpi.size; ++rank) wanted = 10 * wanted + rank + 1;
      CHECK_OK(MPI_Allreduce(&own, &all, 1, MPI_LONG, op, MPI_COMM_WORLD));
      CHECK_EQ(all, wanted);
    }
    CHECK_OK(MPI_Op_free(&op));
    CHECK(op == MPI_OP_NULL);
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  names();
  hints(mpi);
  handlers();
  operations(mpi);
}
