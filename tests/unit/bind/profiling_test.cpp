// A program's own MPI_X precedes the library's, and calls it as PMPI_X (MPI 5.0 section 15.2).
#include "check.hpp"

namespace {
int calls = 0;
}

extern "C" int MPI_Comm_size(MPI_Comm comm, int* size) {
  ++calls;
  return PMPI_Comm_size(comm, size);
}

namespace hr::test {
namespace {

TEST(Profiling, InterceptsAndForwards) {
  int size = 0;
  EXPECT_EQ(MPI_Comm_size(MPI_COMM_WORLD, &size), MPI_SUCCESS);
  EXPECT_EQ(size, 1);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(PMPI_Comm_size(MPI_COMM_WORLD, &size), MPI_SUCCESS);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(MPI_Pcontrol(1), MPI_SUCCESS);
}

}  // namespace
}  // namespace hr::test
