// Reading and writing a status, and its Fortran forms (MPI 5.0 sections 3.2.5, 13.3, 19.3.5).
#include <cstring>

#include "check.hpp"

namespace hr::test {
namespace {

TEST(StatusFields, ElementsSetAreElementsGot) {
  MPI_Status status;
  std::memset(&status, 0xff, sizeof status);
  ASSERT_EQ(MPI_Status_set_elements(&status, MPI_DOUBLE, 3), MPI_SUCCESS);
  ASSERT_EQ(MPI_Status_set_cancelled(&status, 1), MPI_SUCCESS);
  int count = 0;
  EXPECT_EQ(MPI_Get_count(&status, MPI_DOUBLE, &count), MPI_SUCCESS);
  EXPECT_EQ(count, 3);
  MPI_Get_count(&status, MPI_BYTE, &count);
  EXPECT_EQ(count, 24);
  MPI_Get_count(&status, MPI_LONG_DOUBLE, &count);
  EXPECT_EQ(count, MPI_UNDEFINED) << "24 bytes are not a multiple of 16";
  int flag = 0;
  MPI_Test_cancelled(&status, &flag);
  EXPECT_TRUE(flag);
  MPI_Status_set_source(&status, 5);
  MPI_Status_set_tag(&status, 6);
  MPI_Status_set_error(&status, MPI_ERR_TRUNCATE);
  EXPECT_EQ(status.MPI_SOURCE, 5);
  EXPECT_EQ(status.MPI_TAG, 6);
  EXPECT_EQ(status.MPI_ERROR, MPI_ERR_TRUNCATE);
}

TEST(StatusFields, LargeCounts) {
  MPI_Status status{};
  const MPI_Count many = (MPI_Count{1} << 40) + 3;
  ASSERT_EQ(MPI_Status_set_elements_c(&status, MPI_BYTE, many), MPI_SUCCESS);
  MPI_Count wide = 0;
  EXPECT_EQ(MPI_Get_count_c(&status, MPI_BYTE, &wide), MPI_SUCCESS);
  EXPECT_EQ(wide, many);
  int narrow = 0;
  EXPECT_EQ(MPI_Get_count(&status, MPI_BYTE, &narrow), MPI_SUCCESS);
  EXPECT_EQ(narrow, MPI_UNDEFINED);
}

TEST(StatusFields, FortranAndBack) {
  MPI_Status status{};
  status.MPI_SOURCE = 1;
  status.MPI_TAG = 2;
  MPI_Status_set_elements(&status, MPI_INT, 7);
  MPI_Fint fortran[MPI_F_STATUS_SIZE];
  MPI_F08_status f08;
  MPI_Status back{};
  EXPECT_EQ(MPI_Status_c2f(&status, fortran), MPI_SUCCESS);
  EXPECT_EQ(fortran[MPI_F_SOURCE], 1);
  EXPECT_EQ(fortran[MPI_F_TAG], 2);
  EXPECT_EQ(MPI_Status_f2f08(fortran, &f08), MPI_SUCCESS);
  EXPECT_EQ(MPI_Status_f082c(&f08, &back), MPI_SUCCESS);
  EXPECT_EQ(std::memcmp(&status, &back, sizeof status), 0);
}

}  // namespace
}  // namespace hr::test
