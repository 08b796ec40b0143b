// Statuses in their three forms: the C struct, the Fortran array and the mpi_f08 type (MPI 5.0 section 19.3.5). A
// status set by the library survives every conversion from one form to another, with source, tag, error, count and the
// cancelled flag.
#include <cstring>

#include "../common/check.hpp"

namespace {

constexpr int kTag = 77, kCount = 5;

// Zero-based indices of MPI_SOURCE, MPI_TAG and MPI_ERROR in a Fortran status array.
struct Places {
  int source, tag, error;
};
const Places kPlaces = {MPI_F_SOURCE, MPI_F_TAG, MPI_F_ERROR};

struct FortranStatus {
  MPI_Fint words[MPI_F_STATUS_SIZE];
};

template <class T>
T poisoned() {
  T value;
  std::memset(&value, 0xa5, sizeof value);
  return value;
}

void expect(const MPI_Status& status, int rank, bool cancelled) {
  CHECK_EQ(status.MPI_SOURCE, rank);
  CHECK_EQ(status.MPI_TAG, kTag);
  CHECK_EQ(status.MPI_ERROR, MPI_ERR_OTHER);
  int count = -1, flag = -1;
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, kCount);
  CHECK_OK(MPI_Test_cancelled(&status, &flag));
  CHECK_EQ(flag, cancelled ? 1 : 0);
}

void expect(const FortranStatus& status, int rank) {
  CHECK_EQ(status.words[kPlaces.source], rank);
  CHECK_EQ(status.words[kPlaces.tag], kTag);
  CHECK_EQ(status.words[kPlaces.error], MPI_ERR_OTHER);
}

void expect(const MPI_F08_status& status, int rank) {
  CHECK_EQ(status.MPI_SOURCE, rank);
  CHECK_EQ(status.MPI_TAG, kTag);
  CHECK_EQ(status.MPI_ERROR, MPI_ERR_OTHER);
}

void convert(const MPI_Status& from, int rank, bool cancelled) {
  expect(from, rank, cancelled);
  auto f = poisoned<FortranStatus>();
  CHECK_OK(MPI_Status_c2f(&from, f.words));
  expect(f, rank);
  auto c = poisoned<MPI_Status>();
  CHECK_OK(MPI_Status_f2c(f.words, &c));
  expect(c, rank, cancelled);

  auto f08 = poisoned<MPI_F08_status>();
  CHECK_OK(MPI_Status_c2f08(&from, &f08));
  expect(f08, rank);
  c = poisoned<MPI_Status>();
  CHECK_OK(MPI_Status_f082c(&f08, &c));
  expect(c, rank, cancelled);

  // Converts the status through all three forms, in both directions.
  auto again = poisoned<FortranStatus>();
  CHECK_OK(MPI_Status_f082f(&f08, again.words));
  expect(again, rank);
  c = poisoned<MPI_Status>();
  CHECK_OK(MPI_Status_f2c(again.words, &c));
  expect(c, rank, cancelled);
  f08 = poisoned<MPI_F08_status>();
  CHECK_OK(MPI_Status_f2f08(f.words, &f08));
  expect(f08, rank);
  c = poisoned<MPI_Status>();
  CHECK_OK(MPI_Status_f082c(&f08, &c));
  expect(c, rank, cancelled);
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  const int from = (mpi.rank + mpi.size - 1) % mpi.size, to = (mpi.rank + 1) % mpi.size;
  const int sent[kCount] = {};
  int received[2 * kCount];
  auto status = poisoned<MPI_Status>();
  CHECK_OK(MPI_Sendrecv(sent, kCount, MPI_INT, to, kTag, received, 2 * kCount, MPI_INT, from, kTag, MPI_COMM_WORLD,
                        &status));
  CHECK_OK(MPI_Status_set_error(&status, MPI_ERR_OTHER));
  convert(status, from, false);
  CHECK_OK(MPI_Status_set_cancelled(&status, 1));
  convert(status, from, true);
}
