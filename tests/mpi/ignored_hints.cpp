// Hints of communicators that are ignored, each used twice: two ranks. The caller counts the lines that show them.
#include <string>

#include "common/check.hpp"

namespace {

// Returns a duplicate of MPI_COMM_WORLD with one hint; an empty key: none.
MPI_Comm duplicate(const std::string& key, const std::string& value) {
  MPI_Info info;
  CHECK_OK(MPI_Info_create(&info));
  if (!key.empty()) CHECK_OK(MPI_Info_set(info, key.c_str(), value.c_str()));
  MPI_Comm made;
  CHECK_OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made));
  CHECK_OK(MPI_Info_free(&info));
  return made;
}

// True if the communicator reports the hint with this value.
bool has(MPI_Comm comm, const std::string& key, const std::string& wanted) {
  MPI_Info info;
  CHECK_OK(MPI_Comm_get_info(comm, &info));
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int length = sizeof value, found = -1;
  CHECK_OK(MPI_Info_get_string(info, key.c_str(), &length, value, &found));
  CHECK_OK(MPI_Info_free(&info));
  return found != 0 && wanted == value;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  const int rank = check::world_rank();
  for (int round = 0; round < 2; ++round) {
    MPI_Comm misspelt = duplicate("mpi_asert_no_any_tag", "true");
    CHECK(!has(misspelt, "mpi_asert_no_any_tag", "true"));
    MPI_Comm wrong = duplicate("mpi_assert_exact_length", "yes");
    CHECK(has(wrong, "mpi_assert_exact_length", "false"));
    MPI_Comm known = duplicate("mpi_assert_allow_overtaking", "true");
    CHECK(has(known, "mpi_assert_allow_overtaking", "true"));
    MPI_Comm one_member = duplicate(rank == 0 ? "mpi_assert_no_any_tag" : "", "true");
    for (MPI_Comm* each : {&misspelt, &wrong, &known, &one_member}) {
      int in = -1;
      CHECK_OK(MPI_Sendrecv(&rank, 1, MPI_INT, 1 - rank, 1, &in, 1, MPI_INT, 1 - rank, MPI_ANY_TAG, *each,
                            MPI_STATUS_IGNORE));
      CHECK_EQ(in, 1 - rank);
      CHECK_OK(MPI_Comm_free(each));
    }
  }
  MPI_Finalize();
}
