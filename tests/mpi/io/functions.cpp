// Queries and settings of a file: every function of the chapter that moves no data; simple accesses with known results;
// many requests at once; atomic mode; large counts.
#include <array>
#include <cstring>

#include "io_test.hpp"

namespace {

using io_test::Bytes;
using io_test::Info;
using io_test::Name;

MPI_File open_file(const Name& name, int mode = MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_Info info = MPI_INFO_NULL) {
  MPI_File file = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), mode, info, &file));
  return file;
}

MPI_Offset size_of(MPI_File file) {
  MPI_Offset size = -1;
  CHECK_OK(MPI_File_get_size(file, &size));
  return size;
}

MPI_Offset position_of(MPI_File file) {
  MPI_Offset offset = -1;
  CHECK_OK(MPI_File_get_position(file, &offset));
  return offset;
}

void facts() {
  const Name name("functions");
  MPI_File file = open_file(name);
  int amode = 0, result = 0;
  CHECK_OK(MPI_File_get_amode(file, &amode));
  CHECK_EQ(amode, MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  CHECK_OK(MPI_File_get_group(file, &group));
  CHECK_OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  CHECK_OK(MPI_Group_compare(group, world, &result));
  CHECK_EQ(result, MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  CHECK_EQ(size_of(file), 0);
  CHECK_OK(MPI_File_set_size(file, 1000));
  CHECK_EQ(size_of(file), 1000);
  CHECK_OK(MPI_File_preallocate(file, 500));
  CHECK_EQ(size_of(file), 1000);
  CHECK_OK(MPI_File_preallocate(file, 3000));
  CHECK_EQ(size_of(file), 3000);
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_set_size(file, 10));
  CHECK_EQ(size_of(file), 10);
  CHECK_OK(MPI_File_sync(file));
  // Converts to integers and back.
  CHECK(MPI_File_f2c(MPI_File_c2f(file)) == file);
  CHECK(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
  CHECK_OK(MPI_File_close(&file));
}

void hints() {
  const Name name("functions");
  const Info wanted{{"cb_buffer_size", "65536"},        {"cb_nodes", "2"},       {"romio_cb_write", "enable"},
                    {"ind_rd_buffer_size", "nonsense"}, {"unknown_to_all", "1"}, {"access_style", "write_once"},
                    {"striping_unit", "8192"}};
  MPI_File file = open_file(name, MPI_MODE_RDWR | MPI_MODE_CREATE, wanted);
  MPI_Info used = MPI_INFO_NULL;
  CHECK_OK(MPI_File_get_info(file, &used));
  CHECK_EQ(io_test::value_of(used, "cb_buffer_size"), std::string("65536"));
  CHECK_EQ(io_test::value_of(used, "cb_nodes"), std::string("2"));
  CHECK_EQ(io_test::value_of(used, "romio_cb_write"), std::string("enable"));
  CHECK_EQ(io_test::value_of(used, "romio_cb_read"), std::string("automatic"));
  CHECK_EQ(io_test::value_of(used, "access_style"), std::string("write_once"));
  CHECK_EQ(io_test::value_of(used, "striping_unit"), std::string("8192"));
  CHECK_EQ(io_test::value_of(used, "unknown_to_all"), std::string());
  CHECK(io_test::value_of(used, "ind_rd_buffer_size") != "nonsense");
  MPI_Info_free(&used);
  const Info later{{"cb_nodes", "1"}};
  CHECK_OK(MPI_File_set_info(file, later));
  CHECK_OK(MPI_File_get_info(file, &used));
  CHECK_EQ(io_test::value_of(used, "cb_nodes"), std::string("1"));
  MPI_Info_free(&used);
  CHECK_OK(MPI_File_close(&file));
}

void views_and_pointers() {
  const Name name("functions");
  MPI_File file = open_file(name);
  MPI_Offset displacement = -1, bytes = -1;
  MPI_Datatype etype = MPI_DATATYPE_NULL, filetype = MPI_DATATYPE_NULL, vector = MPI_DATATYPE_NULL;
  char datarep[MPI_MAX_DATAREP_STRING] = "";
  CHECK_OK(MPI_File_get_view(file, &displacement, &etype, &filetype, datarep));
  CHECK_EQ(displacement, 0);
  CHECK(etype == MPI_BYTE && filetype == MPI_BYTE);
  CHECK_EQ(std::string(datarep), std::string("native"));
  MPI_Type_vector(3, 2, 4, MPI_INT, &vector);  // ints 0 1, 4 5, 8 9
  MPI_Type_commit(&vector);
  CHECK_OK(MPI_File_set_view(file, 100, MPI_INT, vector, "internal", MPI_INFO_NULL));
  CHECK_OK(MPI_File_get_view(file, &displacement, &etype, &filetype, datarep));
  CHECK_EQ(displacement, 100);
  CHECK(etype == MPI_INT && filetype != MPI_DATATYPE_NULL);
  CHECK_EQ(std::string(datarep), std::string("internal"));
  MPI_Type_free(&filetype);
  constexpr std::array<int, 8> kInts = {0, 1, 4, 5, 8, 9, 10, 11};  // the extent is 10 ints
  for (int i = 0; i < 8; ++i) {
    CHECK_OK(MPI_File_get_byte_offset(file, i, &bytes));
    CHECK_EQ(bytes, 100 + 4 * kInts[static_cast<std::size_t>(i)]);
  }
  CHECK_OK(MPI_File_seek(file, 5, MPI_SEEK_SET));
  CHECK_OK(MPI_File_seek(file, -2, MPI_SEEK_CUR));
  CHECK_EQ(position_of(file), 3);
  CHECK_OK(MPI_File_set_size(file, 100 + 4 * 9));
  CHECK_OK(MPI_File_seek(file, 0, MPI_SEEK_END));
  CHECK_EQ(position_of(file), 5);
  MPI_Aint extent = 0;
  CHECK_OK(MPI_File_get_type_extent(file, vector, &extent));
  CHECK_EQ(extent, 40);
  CHECK_CLASS(MPI_File_seek(file, -6, MPI_SEEK_CUR), MPI_ERR_ARG);
  CHECK_EQ(position_of(file), 5);
  MPI_Type_free(&vector);
  // Reading at the end returns no data; the pointer advances by the requested amount.
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_EQ(position_of(file), 0);
  CHECK_OK(MPI_File_seek(file, 1000, MPI_SEEK_SET));
  int numbers[4] = {-1, -1, -1, -1};
  MPI_Status status;
  CHECK_OK(MPI_File_read(file, numbers, 4, MPI_INT, &status));
  CHECK_EQ(io_test::count_of(status, MPI_INT), 0);
  CHECK_EQ(numbers[0], -1);
  CHECK_EQ(position_of(file), 1004);
  CHECK_OK(MPI_File_close(&file));
}

// Many requests, completed in any order; and the plain and large forms of one access each.
void many_requests(const check::Environment& mpi) {
  const Name name("functions");
  MPI_File file = open_file(name);
  constexpr int kRequests = 50, kInts = 1000;
  std::vector<int> data(kRequests * kInts), found(kRequests * kInts, -1);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = mpi.rank * 1000000 + static_cast<int>(i);
  std::vector<MPI_Request> requests(kRequests);
  const MPI_Offset mine = static_cast<MPI_Offset>(data.size() * sizeof(int)) * mpi.rank;
  for (int i = 0; i < kRequests; ++i) {
    const MPI_Offset offset = mine + static_cast<MPI_Offset>(i * kInts * 4);
    CHECK_OK(MPI_File_iwrite_at_c(file, offset, &data[static_cast<std::size_t>(i * kInts)], kInts, MPI_INT,
                                  &requests[static_cast<std::size_t>(i)]));
  }
  // Messages work in the meantime.
  int sum = 0;
  MPI_Allreduce(&mpi.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  CHECK_EQ(sum, mpi.size * (mpi.size - 1) / 2);
  std::vector<MPI_Status> statuses(kRequests);
  CHECK_OK(MPI_Waitall(kRequests, requests.data(), statuses.data()));
  for (const MPI_Status& status : statuses) CHECK_EQ(io_test::count_of(status, MPI_INT), kInts);
  for (int i = kRequests - 1; i >= 0; --i) {
    const MPI_Offset offset = mine + static_cast<MPI_Offset>(i * kInts * 4);
    CHECK_OK(MPI_File_iread_at(file, offset, &found[static_cast<std::size_t>(i * kInts)], kInts, MPI_INT,
                               &requests[static_cast<std::size_t>(i)]));
  }
  for (int left = kRequests; left > 0; --left) {
    int index = -1;
    CHECK_OK(MPI_Waitany(kRequests, requests.data(), &index, MPI_STATUS_IGNORE));
    CHECK(index >= 0 && index < kRequests);
  }
  CHECK(found == data);
  // Several collective accesses pending at once.
  std::vector<int> again(data.size(), -1);
  const MPI_Datatype type = MPI_INT;
  MPI_Request three[3];
  MPI_Datatype filetype = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, 4 * mpi.size, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(file, 4 * mpi.rank, MPI_INT, filetype, "native", MPI_INFO_NULL));
  for (int i = 0; i < 3; ++i)
    CHECK_OK(MPI_File_iwrite_at_all(file, i * 1000, &data[static_cast<std::size_t>(i) * 1000], 1000, type, &three[i]));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 2; i >= 0; --i) CHECK_OK(MPI_Wait(&three[i], MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_read_at_all_c(file, 0, again.data(), 3000, type, MPI_STATUS_IGNORE));
  CHECK(std::memcmp(again.data(), data.data(), 3000 * sizeof(int)) == 0);
  MPI_Type_free(&filetype);
  CHECK_OK(MPI_File_close(&file));
}

// In atomic mode a reader of data that others overwrite sees either the old or the new data.
void atomic(const check::Environment& mpi) {
  const Name name("functions");
  MPI_File file = open_file(name);
  int flag = -1;
  CHECK_OK(MPI_File_get_atomicity(file, &flag));
  CHECK_EQ(flag, 0);
  CHECK_OK(MPI_File_set_atomicity(file, 1));
  CHECK_OK(MPI_File_get_atomicity(file, &flag));
  CHECK_EQ(flag, 1);
  // The view has every second page, so that an access takes several system calls.
  MPI_Datatype pages = MPI_DATATYPE_NULL;
  constexpr int kPages = 8, kBytes = 4096;
  MPI_Type_vector(kPages, kBytes, 2 * kBytes, MPI_BYTE, &pages);
  MPI_Type_commit(&pages);
  CHECK_OK(MPI_File_set_view(file, 0, MPI_BYTE, pages, "native", MPI_INFO_NULL));
  std::vector<unsigned char> data(kPages * kBytes), found(kPages * kBytes);
  if (mpi.rank == 0) CHECK_OK(MPI_File_write_at(file, 0, data.data(), kPages * kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 0; round < 30; ++round) {
    if ((mpi.rank + round) % 2 == 0) {
      std::memset(data.data(), 1 + round * mpi.size + mpi.rank, data.size());
      MPI_Request request = MPI_REQUEST_NULL;
      if (round % 3 == 0) {
        CHECK_OK(MPI_File_iwrite_at(file, 0, data.data(), kPages * kBytes, MPI_BYTE, &request));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      } else {
        CHECK_OK(MPI_File_write_at(file, 0, data.data(), kPages * kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
      }
    } else {
      CHECK_OK(MPI_File_read_at(file, 0, found.data(), kPages * kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
      for (const unsigned char byte : found) CHECK_EQ(byte, found[0]);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  // All ranks write to the same range collectively; afterwards, the file has the data of one of them.
  std::memset(data.data(), 100 + mpi.rank, data.size());
  CHECK_OK(MPI_File_write_at_all(file, 0, data.data(), kPages * kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_read_at_all(file, 0, found.data(), kPages * kBytes, MPI_BYTE, MPI_STATUS_IGNORE));
  for (const unsigned char byte : found) CHECK_EQ(byte, found[0]);
  CHECK(found[0] >= 100 && found[0] < 100 + mpi.size);
  MPI_Type_free(&pages);
  CHECK_OK(MPI_File_close(&file));
}

// Several files at once, on different communicators, and files that are open when their communicator is freed.
void several() {
  const Name one("functions"), other("others");
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_File a = open_file(one), b = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(comm, other.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &b));
  MPI_Comm_free(&comm);
  const int rank = check::world_rank();
  int x = rank, y = -rank, found = 0;
  CHECK_OK(MPI_File_write_at_all(a, 4 * rank, &x, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write_ordered(b, &y, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at(a, 4 * rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_EQ(found, x);
  CHECK_OK(MPI_File_read_at(b, 4 * rank, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_EQ(found, y);
  CHECK_OK(MPI_File_close(&a));
  CHECK_OK(MPI_File_close(&b));
  MPI_File mine = MPI_FILE_NULL;
  if (rank == 0) {
    CHECK_OK(MPI_File_open(MPI_COMM_SELF, one.c_str(), MPI_MODE_RDONLY, MPI_INFO_NULL, &mine));
    CHECK_OK(MPI_File_read_all(mine, &found, 1, MPI_INT, MPI_STATUS_IGNORE));
    CHECK_EQ(found, 0);
    CHECK_OK(MPI_File_close(&mine));
  }
}

// Some ranks have an empty filetype.
void nothing(const check::Environment& mpi) {
  const Name name("functions");
  const Info info{{"romio_cb_write", "enable"}, {"romio_cb_read", "enable"}};
  MPI_File file = open_file(name, MPI_MODE_RDWR | MPI_MODE_CREATE, info);
  MPI_Datatype none = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(0, MPI_INT, &none);
  MPI_Type_commit(&none);
  const bool has = mpi.rank % 2 == 0;
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, has ? MPI_INT : none, "native", MPI_INFO_NULL));
  int number = mpi.rank, found = -5;
  MPI_Status status;
  CHECK_OK(MPI_File_write_at_all(file, mpi.rank, &number, has ? 1 : 0, MPI_INT, &status));
  CHECK_EQ(io_test::count_of(status, MPI_INT), has ? 1 : 0);
  CHECK_OK(MPI_File_read_at_all(file, mpi.rank, &found, 1, MPI_INT, &status));
  CHECK_EQ(io_test::count_of(status, MPI_INT), has ? 1 : 0);
  CHECK_EQ(found, has ? mpi.rank : -5);
  CHECK_OK(MPI_File_write_at_all(file, 0, nullptr, 0, MPI_INT, &status));
  CHECK_EQ(io_test::count_of(status, MPI_INT), 0);
  MPI_Type_free(&none);
  CHECK_OK(MPI_File_close(&file));
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  facts();
  hints();
  views_and_pointers();
  many_requests(mpi);
  atomic(mpi);
  several();
  nothing(mpi);
  return 0;
}
