// Fields of a status (sections 3.2.5 and 5.1.11): source, tag, counts of whole types and of elements, also of parts of
// a derived type; conversion and setting of statuses.
#include <vector>

#include "common/check.hpp"

namespace {

void expect(const MPI_Status& status, MPI_Datatype type, int count, int elements) {
  int found = -5;
  MPI_Count wide = -5;
  CHECK_OK(MPI_Get_count(&status, type, &found));
  CHECK_EQ(found, count);
  CHECK_OK(MPI_Get_count_c(&status, type, &wide));
  CHECK_EQ(wide, count);
  CHECK_OK(MPI_Get_elements(&status, type, &found));
  CHECK_EQ(found, elements);
  CHECK_OK(MPI_Get_elements_x(&status, type, &wide));
  CHECK_EQ(wide, elements);
}

// Pairs {int, char} with a gap: checks the number of basic elements in a message of n bytes.
void elements(const check::Environment& mpi) {
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, 8};
  const MPI_Datatype types[] = {MPI_INT, MPI_CHAR};
  MPI_Datatype pair;
  CHECK_OK(MPI_Type_create_struct(2, lengths, places, types, &pair));
  CHECK_OK(MPI_Type_commit(&pair));
  std::vector<char> out(100), in(1000);
  MPI_Status status;
  for (int pairs = 0; pairs < 4; ++pairs) {
    CHECK_OK(
        MPI_Sendrecv(out.data(), pairs, pair, mpi.rank, 0, in.data(), 10, pair, mpi.rank, 0, MPI_COMM_WORLD, &status));
    expect(status, pair, pairs, 2 * pairs);
  }
  // A message of one pair and the int of the next.
  MPI_Datatype odd;
  const int odd_lengths[] = {1, 1};
  const MPI_Aint odd_places[] = {0, 16};
  const MPI_Datatype odd_types[] = {pair, MPI_INT};
  CHECK_OK(MPI_Type_create_struct(2, odd_lengths, odd_places, odd_types, &odd));
  CHECK_OK(MPI_Type_commit(&odd));
  CHECK_OK(MPI_Sendrecv(out.data(), 1, odd, mpi.rank, 0, in.data(), 10, pair, mpi.rank, 0, MPI_COMM_WORLD, &status));
  expect(status, pair, MPI_UNDEFINED, 3);
  CHECK_OK(MPI_Type_free(&odd));
  CHECK_OK(MPI_Type_free(&pair));

  int whole = 0;
  CHECK_OK(MPI_Sendrecv(out.data(), 6, MPI_BYTE, mpi.rank, 0, in.data(), 100, MPI_BYTE, mpi.rank, 0, MPI_COMM_WORLD,
                        &status));
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &whole));
  CHECK_EQ(whole, MPI_UNDEFINED);
  CHECK_OK(MPI_Get_count(&status, MPI_SHORT, &whole));
  CHECK_EQ(whole, 3);
}

void settable() {
  MPI_Status status;
  CHECK_OK(MPI_Status_set_elements(&status, MPI_INT, 12));
  CHECK_OK(MPI_Status_set_cancelled(&status, 1));
  expect(status, MPI_INT, 12, 12);
  int cancelled = 0;
  CHECK_OK(MPI_Test_cancelled(&status, &cancelled));
  CHECK_EQ(cancelled, 1);
  const MPI_Count huge = MPI_Count{5} << 33;
  CHECK_OK(MPI_Status_set_elements_x(&status, MPI_BYTE, huge));
  MPI_Count wide = 0;
  CHECK_OK(MPI_Get_elements_x(&status, MPI_BYTE, &wide));
  CHECK_EQ(wide, huge);
  int narrow = 0;
  CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &narrow));
  CHECK_EQ(narrow, MPI_UNDEFINED);
  CHECK_OK(MPI_Get_count_c(&status, MPI_BYTE, &wide));
  CHECK_EQ(wide, huge);
}

// The error field of a status is written only by calls that return several statuses (section 3.2.5).
void error_field(const check::Environment& mpi) {
  int value = 0, in = 0;
  MPI_Status status;
  status.MPI_ERROR = 4711;
  CHECK_OK(MPI_Sendrecv(&value, 1, MPI_INT, mpi.rank, 0, &in, 1, MPI_INT, mpi.rank, 0, MPI_COMM_WORLD, &status));
  CHECK_EQ(status.MPI_ERROR, 4711);
}

// Types of size 0, and receives of empty messages.
void zero_sized(const check::Environment& mpi) {
  MPI_Datatype nothing;
  CHECK_OK(MPI_Type_contiguous(0, MPI_INT, &nothing));
  CHECK_OK(MPI_Type_commit(&nothing));
  MPI_Status status;
  int count = -1;
  CHECK_OK(MPI_Sendrecv(nullptr, 3, nothing, mpi.rank, 0, nullptr, 3, nothing, mpi.rank, 0, MPI_COMM_WORLD, &status));
  CHECK_OK(MPI_Get_count(&status, nothing, &count));
  CHECK_EQ(count, 0);
  CHECK_OK(MPI_Type_free(&nothing));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  elements(mpi);
  settable();
  error_field(mpi);
  zero_sized(mpi);
}
