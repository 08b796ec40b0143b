// The shared file pointer: concurrent use by all ranks, with every function; ordered accesses; its position afterwards.
// Every record of the file is found once and complete, and each rank's records are in order.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "io_test.hpp"

namespace {

using io_test::Name;

struct Record {
  int rank = -1, number = -1;
  int filling[6] = {};
};

Record make(int rank, int number) {
  Record record{rank, number, {}};
  for (int i = 0; i < 6; ++i) record.filling[i] = rank * 1000 + number * 10 + i;
  return record;
}

void check_record(const Record& record, int rank, int number) {
  const Record wanted = make(rank, number);
  CHECK(std::memcmp(&record, &wanted, sizeof record) == 0);
}

MPI_Datatype record_type() {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(8, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

MPI_File open_file(const Name& name, MPI_Datatype type, MPI_Offset displacement) {
  MPI_File file = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  CHECK_OK(MPI_File_set_view(file, displacement, type, type, "native", MPI_INFO_NULL));
  return file;
}

MPI_Offset shared_position(MPI_File file) {
  MPI_Offset offset = -1;
  CHECK_OK(MPI_File_get_position_shared(file, &offset));
  return offset;
}

constexpr int kRecords = 40;

// All ranks write at once, with blocking and non-blocking calls, one to three records per call.
void at_once(const check::Environment& mpi, MPI_Datatype type) {
  const Name name("shared");
  MPI_File file = open_file(name, type, 64);
  for (int number = 0; number < kRecords;) {
    const int count = std::min(1 + number % 3, kRecords - number);
    Record records[3];
    for (int i = 0; i < count; ++i) records[i] = make(mpi.rank, number + i);
    MPI_Status status;
    if (number % 2 == 0) {
      CHECK_OK(MPI_File_write_shared(file, records, count, type, &status));
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      CHECK_OK(MPI_File_iwrite_shared(file, records, count, type, &request));
      CHECK_OK(MPI_Wait(&request, &status));
    }
    CHECK_EQ(io_test::count_of(status, type), count);
    number += count;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_EQ(shared_position(file), kRecords * mpi.size);
  if (mpi.rank == 0) {
    const io_test::Bytes bytes = io_test::content(name.c_str());
    CHECK_EQ(bytes.size(), 64 + sizeof(Record) * static_cast<std::size_t>(kRecords * mpi.size));
    std::vector<int> next(static_cast<std::size_t>(mpi.size), 0);
    for (std::size_t at = 64; at < bytes.size(); at += sizeof(Record)) {
      Record record;
      std::memcpy(&record, bytes.data() + at, sizeof record);
      CHECK(record.rank >= 0 && record.rank < mpi.size);
      check_record(record, record.rank, next[static_cast<std::size_t>(record.rank)]++);
    }
    for (const int count : next) CHECK_EQ(count, kRecords);
  }
  MPI_Barrier(MPI_COMM_WORLD);

  // All ranks read at once: each record is read once, by one rank.
  CHECK_OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
  int seen = 0;
  std::int64_t sum = 0;
  for (;;) {
    Record record;
    MPI_Status status;
    if (seen % 2 == 0) {
      CHECK_OK(MPI_File_read_shared(file, &record, 1, type, &status));
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      CHECK_OK(MPI_File_iread_shared(file, &record, 1, type, &request));
      CHECK_OK(MPI_Wait(&request, &status));
    }
    const int count = io_test::count_of(status, type);
    if (count == 0) break;
    CHECK_EQ(count, 1);
    check_record(record, record.rank, record.number);
    ++seen;
    sum += record.rank * kRecords + record.number;
  }
  std::int64_t mine[2] = {seen, sum}, all[2] = {};
  MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  const std::int64_t total = static_cast<std::int64_t>(kRecords) * mpi.size;
  CHECK_EQ(all[0], total);
  CHECK_EQ(all[1], total * (total - 1) / 2);
  CHECK_OK(MPI_File_close(&file));
}

// Ordered accesses: each rank has a different number of records, some none.
void ordered(const check::Environment& mpi, MPI_Datatype type) {
  const Name name("ordered");
  MPI_File file = open_file(name, type, 8);
  const auto count_of_rank = [](int rank, int round) { return (rank + round) % 3; };
  MPI_Offset before = 0;
  for (int round = 0; round < 9; ++round) {
    const int count = count_of_rank(mpi.rank, round);
    Record records[3];
    for (int i = 0; i < count; ++i) records[i] = make(mpi.rank, round * 3 + i);
    MPI_Status status;
    if (round % 2 == 0) {
      CHECK_OK(MPI_File_write_ordered(file, records, count, type, &status));
    } else {
      CHECK_OK(MPI_File_write_ordered_begin(file, records, count, type));
      CHECK_OK(MPI_File_write_ordered_end(file, records, &status));
    }
    CHECK_EQ(io_test::count_of(status, type), count);
    for (int rank = 0; rank < mpi.size; ++rank) before += count_of_rank(rank, round);
    CHECK_EQ(shared_position(file), before);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (mpi.rank == 0) {
    const io_test::Bytes bytes = io_test::content(name.c_str());
    std::size_t at = 8;
    for (int round = 0; round < 9; ++round) {
      for (int rank = 0; rank < mpi.size; ++rank) {
        for (int i = 0; i < count_of_rank(rank, round); ++i, at += sizeof(Record)) {
          Record record;
          CHECK(at + sizeof record <= bytes.size());
          std::memcpy(&record, bytes.data() + at, sizeof record);
          check_record(record, rank, round * 3 + i);
        }
      }
    }
    CHECK_EQ(at, bytes.size());
  }
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_OK(MPI_File_seek_shared(file, -before, MPI_SEEK_CUR));
  CHECK_EQ(shared_position(file), 0);
  for (int round = 0; round < 9; ++round) {
    const int count = count_of_rank(mpi.rank, round);
    Record records[3];
    MPI_Status status;
    if (round % 2 != 0) {
      CHECK_OK(MPI_File_read_ordered(file, records, count, type, &status));
    } else {
      CHECK_OK(MPI_File_read_ordered_begin(file, records, count, type));
      CHECK_OK(MPI_File_read_ordered_end(file, records, &status));
    }
    CHECK_EQ(io_test::count_of(status, type), count);
    for (int i = 0; i < count; ++i) check_record(records[i], mpi.rank, round * 3 + i);
  }
  CHECK_OK(MPI_File_seek_shared(file, -1, MPI_SEEK_END));
  CHECK_EQ(shared_position(file), before - 1);
  CHECK_OK(MPI_File_close(&file));
}

// Appended data starts at the end of the file.
void append(const check::Environment& mpi) {
  const Name name("append");
  if (mpi.rank == 0) io_test::put_content(name.c_str(), io_test::Bytes(100, 1));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File file = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &file));
  MPI_Offset offset = -1;
  CHECK_OK(MPI_File_get_position(file, &offset));
  CHECK_EQ(offset, 100);
  CHECK_EQ(shared_position(file), 100);
  MPI_Barrier(MPI_COMM_WORLD);
  const unsigned char byte = static_cast<unsigned char>(10 + mpi.rank);
  CHECK_OK(MPI_File_write_ordered(file, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&file));
  if (mpi.rank == 0) {
    const io_test::Bytes bytes = io_test::content(name.c_str());
    CHECK_EQ(bytes.size(), 100 + static_cast<std::size_t>(mpi.size));
    for (int rank = 0; rank < mpi.size; ++rank) CHECK_EQ(bytes[100 + static_cast<std::size_t>(rank)], 10 + rank);
  }
}

// Sequential files have only the shared pointer, and a new view starts at its position.
void sequential(const check::Environment& mpi) {
  const Name name("sequential");
  MPI_File file = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name.c_str(), MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL,
                         MPI_INFO_NULL, &file));
  const int number = mpi.rank;
  CHECK_OK(MPI_File_write_ordered(file, &number, 4, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_OK(MPI_File_write_ordered(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_CLASS(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_write(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_seek(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_OK(MPI_File_close(&file));
  if (mpi.rank == 0) {
    const io_test::Bytes bytes = io_test::content(name.c_str());
    CHECK_EQ(bytes.size(), 8 * static_cast<std::size_t>(mpi.size));
    for (int i = 0; i < 2 * mpi.size; ++i) {
      int found = -1;
      std::memcpy(&found, bytes.data() + 4 * i, 4);
      CHECK_EQ(found, i % mpi.size);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  MPI_Datatype type = record_type();
  at_once(mpi, type);
  ordered(mpi, type);
  append(mpi);
  sequential(mpi);
  MPI_Type_free(&type);
  return 0;
}
