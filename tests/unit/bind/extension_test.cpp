// Additions of mpi-ext.h to the standard.
#include <cstdint>
#include <string>

#include "check.hpp"
#include "mpi-ext.h"

namespace hr::test {
namespace {

TEST(Extension, SmallFloatsAreDatatypes) {
  EXPECT_EQ(MPI_Type_toint(MPIX_C_FLOAT16), 0x2f8);
  EXPECT_EQ(MPI_Type_toint(MPIX_BFLOAT16), 0x2f9);
  for (const auto& [type, name] :
       {std::pair(MPIX_C_FLOAT16, "MPIX_C_FLOAT16"), std::pair(MPIX_BFLOAT16, "MPIX_BFLOAT16")}) {
    char text[MPI_MAX_OBJECT_NAME];
    int length = 0;
    int size = 0;
    EXPECT_EQ(MPI_Type_get_name(type, text, &length), MPI_SUCCESS);
    EXPECT_EQ(std::string(text), name);
    EXPECT_EQ(MPI_Type_size(type, &size), MPI_SUCCESS);
    EXPECT_EQ(size, 2);
  }
}

TEST(Extension, SmallFloatsAreRoundedToNearestEven) {
  // 256 + 1 lies between 256 and 258, 256 + 3 between 258 and 260: the even significand is chosen. A NaN remains one.
  const std::uint16_t in[] = {0x3f80, 0x4040, 0x7f81, 0x7f7f};
  std::uint16_t inout[] = {0x4380, 0x4380, 0x3f80, 0x7f7f};
  EXPECT_EQ(MPI_Reduce_local(in, inout, 4, MPIX_BFLOAT16, MPI_SUM), MPI_SUCCESS);
  EXPECT_EQ(inout[0], 0x4380);
  EXPECT_EQ(inout[1], 0x4382);
  EXPECT_EQ(inout[2], 0x7fc1);
  EXPECT_EQ(inout[3], 0x7f80);  // infinity
  // 2048 + 1 in binary16.
  const std::uint16_t half_in[] = {0x3c00};
  std::uint16_t half_inout[] = {0x6800};
  EXPECT_EQ(MPI_Reduce_local(half_in, half_inout, 1, MPIX_C_FLOAT16, MPI_SUM), MPI_SUCCESS);
  EXPECT_EQ(half_inout[0], 0x6800);
}

}  // namespace
}  // namespace hr::test
