// Handles as integers, and back (MPI 5.0 sections 19.3.4, 20.4.5).
#include "check.hpp"

namespace hr::test {
namespace {

TEST(Convert, PredefinedHandlesAreTheirAbiValues) {
  EXPECT_EQ(MPI_Comm_toint(MPI_COMM_WORLD), 0x101);
  EXPECT_EQ(MPI_Comm_c2f(MPI_COMM_NULL), 0x100);
  EXPECT_EQ(MPI_Type_toint(MPI_INT), 0x209);
  EXPECT_EQ(MPI_Op_c2f(MPI_SUM), 0x21);
  EXPECT_EQ(MPI_Type_fromint(0x209), MPI_INT);
  EXPECT_EQ(MPI_Comm_f2c(0x101), MPI_COMM_WORLD);
  EXPECT_EQ(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)), MPI_FILE_NULL);
  EXPECT_EQ(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)), MPI_WIN_NULL);
}

TEST(Convert, OthersKeepTheirNumber) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_group(comm, &group);
  const MPI_Fint number = MPI_Comm_c2f(comm);
  EXPECT_EQ(number, MPI_Comm_toint(comm));
  EXPECT_NE(number, MPI_Group_c2f(group));
  EXPECT_EQ(MPI_Comm_f2c(number), comm);
  EXPECT_EQ(MPI_Group_f2c(MPI_Group_c2f(group)), group);
  MPI_Group_free(&group);
  MPI_Comm_free(&comm);
}

TEST(Convert, NumbersNeverGivenOutAreNull) {
  EXPECT_EQ(MPI_Comm_f2c(123456789), MPI_COMM_NULL);
  EXPECT_EQ(MPI_Comm_f2c(-1), MPI_COMM_NULL);
  EXPECT_EQ(MPI_Request_f2c(123456789), MPI_REQUEST_NULL);
}

}  // namespace
}  // namespace hr::test
