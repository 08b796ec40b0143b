// Checks of an error code: its class, and its string from MPI_Error_string.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <string>

namespace hr::test {

inline int class_of(int code) {
  int error_class = -1;
  EXPECT_EQ(MPI_Error_class(code, &error_class), MPI_SUCCESS);
  return error_class;
}

inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  EXPECT_EQ(MPI_Error_string(code, text, &length), MPI_SUCCESS);
  return std::string(text, static_cast<std::size_t>(length));
}

// Expects the class, and words that the message must contain: the function, the argument and the value.
inline void expect_error(int code, int error_class, const std::string& words) {
  EXPECT_EQ(class_of(code), error_class) << text_of(code);
  EXPECT_NE(text_of(code).find(words), std::string::npos) << text_of(code);
}

}  // namespace hr::test
