// Data representations: external32 byte by byte, internal, and two that the program defines; also through views with
// holes, with collective and non-blocking calls, and with a file that ends within the data.
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "io_test.hpp"

namespace {

using io_test::Bytes;
using io_test::Name;

MPI_File open_file(const Name& name) {
  MPI_File file = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  return file;
}

std::uint32_t big_endian(const Bytes& bytes, std::size_t at) {
  return static_cast<std::uint32_t>(bytes[at]) << 24 | static_cast<std::uint32_t>(bytes[at + 1]) << 16 |
         static_cast<std::uint32_t>(bytes[at + 2]) << 8 | bytes[at + 3];
}

// Each rank writes every size-th long: 8 bytes in memory, 4 in the file.
void external32(const check::Environment& mpi) {
  const Name name("datareps");
  MPI_File file = open_file(name);
  constexpr int kCount = 100;
  MPI_Datatype filetype = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_LONG, 0, 4 * mpi.size, &filetype);  // extents are those in the file
  MPI_Type_commit(&filetype);
  MPI_Aint extent = 0;
  CHECK_OK(MPI_File_set_view(file, 0, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_type_extent(file, MPI_LONG, &extent));
  CHECK_EQ(extent, 4);
  CHECK_OK(MPI_File_get_type_extent(file, MPI_DOUBLE, &extent));
  CHECK_EQ(extent, 8);
  CHECK_OK(MPI_File_set_view(file, 4 * mpi.rank, MPI_LONG, filetype, "external32", MPI_INFO_NULL));
  char datarep[MPI_MAX_DATAREP_STRING] = "";
  MPI_Offset displacement = 0;
  MPI_Datatype etype = MPI_DATATYPE_NULL, found_type = MPI_DATATYPE_NULL;
  CHECK_OK(MPI_File_get_view(file, &displacement, &etype, &found_type, datarep));
  CHECK_EQ(std::string(datarep), std::string("external32"));
  CHECK(etype == MPI_LONG);
  MPI_Type_free(&found_type);
  std::vector<long> data(kCount), found(kCount, -1);
  for (int i = 0; i < kCount; ++i) data[static_cast<std::size_t>(i)] = 1000L * mpi.rank + i - 50;
  MPI_Status status;
  CHECK_OK(MPI_File_write_all(file, data.data(), kCount, MPI_LONG, &status));
  CHECK_EQ(io_test::count_of(status, MPI_LONG), kCount);
  CHECK_OK(MPI_File_sync(file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (mpi.rank == 0) {
    const Bytes bytes = io_test::content(name.c_str());
    CHECK_EQ(bytes.size(), static_cast<std::size_t>(4 * kCount * mpi.size));
    for (int i = 0; i < kCount * mpi.size; ++i) {
      const auto wanted = static_cast<std::uint32_t>(1000 * (i % mpi.size) + i / mpi.size - 50);
      CHECK_EQ(big_endian(bytes, static_cast<std::size_t>(4 * i)), wanted);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_File_iread_at(file, 0, found.data(), kCount, MPI_LONG, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  CHECK_EQ(io_test::count_of(status, MPI_LONG), kCount);
  CHECK(found == data);
  // Reads more than the file holds.
  found.assign(kCount, -1);
  CHECK_OK(MPI_File_read_at_all(file, kCount - 10, found.data(), kCount, MPI_LONG, &status));
  CHECK_EQ(io_test::count_of(status, MPI_LONG), 10);
  for (int i = 0; i < kCount; ++i)
    CHECK_EQ(found[static_cast<std::size_t>(i)], i < 10 ? data[static_cast<std::size_t>(kCount - 10 + i)] : -1);
  // A value that does not fit four bytes.
  const long large = 1L << 40;
  CHECK_CLASS(MPI_File_write_at(file, 0, &large, 1, MPI_LONG, MPI_STATUS_IGNORE), MPI_ERR_CONVERSION);
  MPI_Type_free(&filetype);
  CHECK_OK(MPI_File_close(&file));
}

// A user-defined representation: every byte of an int is stored three times.
struct State {
  int reads = 0, writes = 0, extents = 0;
};

int extent_of(MPI_Datatype type, MPI_Aint* extent, void* state) {
  ++static_cast<State*>(state)->extents;
  int bytes = 0;
  MPI_Type_size(type, &bytes);
  *extent = 3 * bytes;
  return MPI_SUCCESS;
}

template <class Count>
int read_triple(void* user, MPI_Datatype type, Count count, void* file, MPI_Offset position, void* state) {
  ++static_cast<State*>(state)->reads;
  if (type != MPI_INT) return MPI_ERR_TYPE;
  const auto* const from = static_cast<unsigned char*>(file);
  auto* const to = static_cast<unsigned char*>(user) + 4 * position;
  for (Count i = 0; i < 4 * count; ++i) to[i] = from[3 * i + 2];
  return MPI_SUCCESS;
}

template <class Count>
int write_triple(void* user, MPI_Datatype type, Count count, void* file, MPI_Offset position, void* state) {
  ++static_cast<State*>(state)->writes;
  if (type != MPI_INT) return MPI_ERR_TYPE;
  const auto* const from = static_cast<unsigned char*>(user) + 4 * position;
  auto* const to = static_cast<unsigned char*>(file);
  for (Count i = 0; i < 12 * count; ++i) to[i] = from[i / 3];
  return MPI_SUCCESS;
}

void users(const check::Environment& mpi, const char* datarep, State& state) {
  const Name name("datareps");
  MPI_File file = open_file(name);
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, datarep, MPI_INFO_NULL));
  CHECK(state.extents > 0);
  MPI_Aint extent = 0;
  CHECK_OK(MPI_File_get_type_extent(file, MPI_INT, &extent));
  CHECK_EQ(extent, 12);
  const int data[3] = {mpi.rank, 0x01020304, -mpi.rank};
  int found[3] = {};
  CHECK_OK(MPI_File_write_ordered(file, data, 3, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Offset size = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_get_size(file, &size));
  CHECK_EQ(size, 36 * mpi.size);
  CHECK_OK(MPI_File_read_at(file, 3 * mpi.rank, found, 3, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(std::memcmp(data, found, sizeof data) == 0);
  CHECK(state.reads > 0 && state.writes > 0);
  short other = 1;
  CHECK_CLASS(MPI_File_write_at(file, 0, &other, 1, MPI_SHORT, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  CHECK_OK(MPI_File_close(&file));
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  external32(mpi);
  static State plain, large;
  CHECK_OK(MPI_Register_datarep("triple", read_triple<int>, write_triple<int>, extent_of, &plain));
  CHECK_CLASS(MPI_Register_datarep("triple", read_triple<int>, write_triple<int>, extent_of, &plain),
              MPI_ERR_DUP_DATAREP);
  CHECK_CLASS(MPI_Register_datarep("native", read_triple<int>, write_triple<int>, extent_of, &plain),
              MPI_ERR_DUP_DATAREP);
  CHECK_CLASS(
      MPI_Register_datarep(std::string(200, 'x').c_str(), read_triple<int>, write_triple<int>, extent_of, &plain),
      MPI_ERR_ARG);
  users(mpi, "triple", plain);
  CHECK_OK(MPI_Register_datarep_c("triple large", read_triple<MPI_Count>, write_triple<MPI_Count>, extent_of, &large));
  users(mpi, "triple large", large);
  return 0;
}
