// external32: sizes, the bytes as literals, and the values read back; and differences of addresses.
#include <cstring>

#include "../common/check.hpp"

namespace {

constexpr int kInts = 3;
constexpr char kRepresentation[] = "external32";
const int numbers[kInts] = {0x01020304, -2, 77};
const unsigned char written[4 * kInts] = {1, 2, 3, 4, 255, 255, 255, 254, 0, 0, 0, 77};

void sizes() {
  MPI_Aint size = -7;
  CHECK_OK(MPI_Pack_external_size(kRepresentation, kInts, MPI_INT, &size));
  CHECK_EQ(size, 4 * kInts);
  MPI_Count wide = -7;
  CHECK_OK(MPI_Pack_external_size_c(kRepresentation, kInts, MPI_DOUBLE, &wide));
  CHECK_EQ(wide, 8 * kInts);
}

// The packed data follows two bytes that must not change.
void there_and_back() {
  constexpr MPI_Aint kRoom = sizeof written + 4;
  unsigned char packed[kRoom];
  std::memset(packed, 0x5a, sizeof packed);
  MPI_Aint position = 2;
  CHECK_OK(MPI_Pack_external(kRepresentation, numbers, kInts, MPI_INT, packed, kRoom, &position));
  CHECK_EQ(position, 2 + sizeof written);
  CHECK_EQ(std::memcmp(packed + 2, written, sizeof written), 0);
  for (int at : {0, 1, static_cast<int>(kRoom) - 2, static_cast<int>(kRoom) - 1}) CHECK_EQ(packed[at], 0x5a);

  int back[kInts] = {-7, -7, -7};
  position = 2;
  CHECK_OK(MPI_Unpack_external(kRepresentation, packed, kRoom, &position, back, kInts, MPI_INT));
  CHECK_EQ(position, 2 + sizeof written);
  CHECK_EQ(std::memcmp(back, numbers, sizeof numbers), 0);
}

void there_and_back_large() {
  constexpr MPI_Count kRoom = sizeof written;
  unsigned char packed[kRoom] = {};
  MPI_Count position = 0;
  CHECK_OK(MPI_Pack_external_c(kRepresentation, numbers, kInts, MPI_INT, packed, kRoom, &position));
  CHECK_EQ(position, kRoom);
  CHECK_EQ(std::memcmp(packed, written, sizeof written), 0);
  int back[kInts] = {-7, -7, -7};
  position = 0;
  CHECK_OK(MPI_Unpack_external_c(kRepresentation, packed, kRoom, &position, back, kInts, MPI_INT));
  CHECK_EQ(position, kRoom);
  CHECK_EQ(std::memcmp(back, numbers, sizeof numbers), 0);
}

void addresses() {
  MPI_Aint first = 0, last = 0;
  CHECK_OK(MPI_Get_address(&numbers[0], &first));
  CHECK_OK(MPI_Get_address(&numbers[2], &last));
  CHECK_EQ(MPI_Aint_diff(last, first), 8);
  CHECK_EQ(MPI_Aint_diff(first, last), -8);
  CHECK_EQ(MPI_Aint_add(first, 8), last);
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  sizes();
  there_and_back();
  there_and_back_large();
  addresses();
}
