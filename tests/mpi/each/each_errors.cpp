// Error classes, codes and strings that the program adds, queries and removes.
#include <string>

#include "../common/check.hpp"

namespace {

int last_used() {
  int* value = nullptr;
  int flag = -7;
  CHECK_OK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
  CHECK_EQ(flag, 1);
  CHECK(value != nullptr);
  return *value;
}

// Other libraries may still recognise a removed code.
void expect_unknown(int code) {
  int error_class = -7;
  const int result = MPI_Error_class(code, &error_class);
  if (check::headrace()) CHECK(result != MPI_SUCCESS);
}

void add_and_remove() {
  const int before = last_used();
  int error_class = -7, code = -7, other = -7, class_found = -7;
  CHECK_OK(MPI_Add_error_class(&error_class));
  CHECK(error_class > MPI_ERR_LASTCODE);
  CHECK_OK(MPI_Error_class(error_class, &class_found));
  CHECK_EQ(class_found, error_class);
  CHECK_OK(MPI_Add_error_code(error_class, &code));
  CHECK(code > MPI_ERR_LASTCODE);
  CHECK(code != error_class);
  CHECK_OK(MPI_Error_class(code, &class_found));
  CHECK_EQ(class_found, error_class);
  CHECK_OK(MPI_Add_error_code(MPI_ERR_IO, &other));
  CHECK(other > MPI_ERR_LASTCODE && other != code && other != error_class);
  CHECK_OK(MPI_Error_class(other, &class_found));
  CHECK_EQ(class_found, MPI_ERR_IO);
  const int after = last_used();
  CHECK(after > before);
  CHECK(after >= error_class);
  if (check::headrace()) CHECK(after >= code && after >= other);  // MPICH considers only classes

  CHECK_EQ(check::error_text(error_class), std::string());
  CHECK_EQ(check::error_text(code), std::string());
  CHECK_OK(MPI_Add_error_string(error_class, "a class of our own"));
  CHECK_OK(MPI_Add_error_string(code, "a code of our own"));
  CHECK_EQ(check::error_text(error_class), std::string("a class of our own"));
  CHECK_EQ(check::error_text(code), std::string("a code of our own"));

  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  // A code with a string, or a class with codes, cannot be removed.
  CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS);
  CHECK_OK(MPI_Remove_error_string(code));
  CHECK_EQ(check::error_text(code), std::string());
  CHECK_OK(MPI_Remove_error_code(code));
  expect_unknown(code);
  CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS);
  CHECK(MPI_Remove_error_class(error_class) != MPI_SUCCESS);
  CHECK_OK(MPI_Remove_error_string(error_class));
  CHECK_EQ(check::error_text(error_class), std::string());
  CHECK_OK(MPI_Remove_error_class(error_class));
  expect_unknown(error_class);
  CHECK(MPI_Remove_error_class(error_class) != MPI_SUCCESS);
  CHECK_OK(MPI_Remove_error_code(other));
  expect_unknown(other);
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}

// This code is not removed: MPICH removes none whose string was replaced.
void replace_text() {
  int code = -7;
  CHECK_OK(MPI_Add_error_code(MPI_ERR_IO, &code));
  for (const char* text : {"a text", "another text"}) {
    CHECK_OK(MPI_Add_error_string(code, text));
    CHECK_EQ(check::error_text(code), std::string(text));
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  add_and_remove();
  replace_text();
}
