// Classes, codes and strings, predefined and user-defined (MPI 5.0 sections 9.4 and 9.5).
#include "check.hpp"

namespace hr::test {
namespace {

TEST(ErrorCodes, EveryClassHasNameAndSentence) {
  for (int error_class = MPI_ERR_BUFFER; error_class <= MPI_ERR_ABI; ++error_class) {
    EXPECT_EQ(class_of(error_class), error_class);
    EXPECT_EQ(text_of(error_class).rfind("MPI_ERR_", 0), 0U) << text_of(error_class);
  }
  EXPECT_EQ(text_of(MPI_SUCCESS), "MPI_SUCCESS: no error");
}

TEST(ErrorCodes, UnknownCodesAreRefused) {
  int error_class = 0;
  EXPECT_EQ(class_of(MPI_Error_class(-1, &error_class)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPI_Error_class(MPI_ERR_LASTCODE - 1, &error_class)), MPI_ERR_ARG);
}

TEST(ErrorCodes, TextsOfManyErrorsStayApart) {
  int value = 0;
  const int first = MPI_Send(&value, 1, MPI_INT, 77, 0, MPI_COMM_WORLD);
  const int second = MPI_Send(&value, 1, MPI_INT, 78, 0, MPI_COMM_WORLD);
  EXPECT_NE(first, second);
  EXPECT_NE(text_of(first).find("77"), std::string::npos);
  EXPECT_NE(text_of(second).find("78"), std::string::npos);
  for (int i = 0; i < 2000; ++i) MPI_Send(&value, 1, MPI_INT, 79, 0, MPI_COMM_WORLD);
  EXPECT_EQ(class_of(first), MPI_ERR_RANK) << "the class outlives the text";
}

TEST(ErrorCodes, TheProgramsOwn) {
  int error_class = 0;
  int code = 0;
  ASSERT_EQ(MPI_Add_error_class(&error_class), MPI_SUCCESS);
  EXPECT_GT(error_class, MPI_ERR_LASTCODE);
  ASSERT_EQ(MPI_Add_error_code(error_class, &code), MPI_SUCCESS);
  EXPECT_EQ(class_of(code), error_class);
  EXPECT_EQ(text_of(code), "") << "no text yet";
  ASSERT_EQ(MPI_Add_error_string(code, "the reactor is too hot"), MPI_SUCCESS);
  EXPECT_EQ(text_of(code), "the reactor is too hot");

  int* last = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &found);
  ASSERT_TRUE(found);
  EXPECT_EQ(*last, code);

  EXPECT_EQ(class_of(MPI_Remove_error_class(error_class)), MPI_ERR_OTHER) << "it still has a code";
  EXPECT_EQ(class_of(MPI_Remove_error_code(code)), MPI_ERR_OTHER) << "it still has a text";
  EXPECT_EQ(MPI_Remove_error_string(code), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_code(code), MPI_SUCCESS);
  EXPECT_EQ(MPI_Remove_error_class(error_class), MPI_SUCCESS);
  EXPECT_EQ(class_of(MPI_Remove_error_class(error_class)), MPI_ERR_ARG);
  EXPECT_EQ(class_of(MPI_Add_error_string(MPI_ERR_RANK, "mine")), MPI_ERR_ARG) << "the standard's text stays";
  EXPECT_EQ(class_of(MPI_Add_error_code(code, &code)), MPI_ERR_ARG);
}

TEST(ErrorCodes, CallErrhandlerReturnsTheHandlersAnswer) {
  EXPECT_EQ(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER), MPI_SUCCESS);
}

}  // namespace
}  // namespace hr::test
