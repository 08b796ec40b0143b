// Incorrect use of files, and system errors: the error has the right class and a helpful message, and the file stays
// usable.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <functional>

#include "io_test.hpp"

namespace {

using io_test::Name;

MPI_File open_file(const char* name, int mode) {
  MPI_File file = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file));
  return file;
}

void check_open(const char* name, int mode, int wanted) {
  MPI_File file = MPI_FILE_NULL;
  const int code = MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, &file);
  CHECK_CLASS(code, wanted);
  CHECK(file == MPI_FILE_NULL);
  CHECK(check::error_text(code).size() > 30);
}

void opening(const check::Environment& mpi) {
  const Name name("errors");
  constexpr int kNew = MPI_MODE_RDWR | MPI_MODE_CREATE;
  check_open(name.c_str(), MPI_MODE_RDONLY, MPI_ERR_NO_SUCH_FILE);
  check_open(name.c_str(), MPI_MODE_RDWR, MPI_ERR_NO_SUCH_FILE);
  check_open("/nowhere/at/all", kNew, MPI_ERR_NO_SUCH_FILE);
  check_open("/dev/null/file", kNew, MPI_ERR_BAD_FILE);
  check_open("/tmp", MPI_MODE_RDONLY, MPI_ERR_BAD_FILE);
  check_open("", kNew, MPI_ERR_BAD_FILE);
  check_open(std::string(5000, 'x').c_str(), kNew, MPI_ERR_BAD_FILE);
  check_open(name.c_str(), 0, MPI_ERR_AMODE);
  check_open(name.c_str(), MPI_MODE_CREATE, MPI_ERR_AMODE);
  check_open(name.c_str(), MPI_MODE_RDONLY | MPI_MODE_WRONLY, MPI_ERR_AMODE);
  check_open(name.c_str(), MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_ERR_AMODE);
  check_open(name.c_str(), MPI_MODE_RDONLY | MPI_MODE_EXCL, MPI_ERR_AMODE);
  check_open(name.c_str(), MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL, MPI_ERR_AMODE);
  if (mpi.size > 1) check_open(name.c_str(), mpi.rank == 1 ? kNew | MPI_MODE_APPEND : kNew, MPI_ERR_NOT_SAME);
  MPI_File file = open_file(name.c_str(), kNew | MPI_MODE_EXCL);
  check_open(name.c_str(), kNew | MPI_MODE_EXCL, MPI_ERR_FILE_EXISTS);
  CHECK_OK(MPI_File_close(&file));
  CHECK(file == MPI_FILE_NULL);
  CHECK_CLASS(MPI_File_close(&file), MPI_ERR_FILE);

  MPI_Barrier(MPI_COMM_WORLD);
  if (mpi.rank == 0) {
    CHECK_OK(MPI_File_delete(name.c_str(), MPI_INFO_NULL));
    CHECK_CLASS(MPI_File_delete(name.c_str(), MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    CHECK_CLASS(MPI_File_delete("/dev", MPI_INFO_NULL), MPI_ERR_BAD_FILE);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  file = open_file(name.c_str(), kNew | MPI_MODE_DELETE_ON_CLOSE);
  CHECK(::access(name.c_str(), F_OK) == 0);
  CHECK_OK(MPI_File_close(&file));
  CHECK(::access(name.c_str(), F_OK) != 0);
  MPI_Comm inter = MPI_COMM_NULL;
  if (mpi.size > 1) {
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, mpi.rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, mpi.rank % 2 == 0 ? 1 : 0, 1, &inter);
    CHECK_CLASS(MPI_File_open(inter, name.c_str(), kNew, MPI_INFO_NULL, &file), MPI_ERR_COMM);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
}

// Accesses that the file's access mode forbids, on all ranks, also in collective calls.
void accesses() {
  const Name name("errors");
  int number = 5;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_File file = open_file(name.c_str(), MPI_MODE_WRONLY | MPI_MODE_CREATE);
  CHECK_CLASS(MPI_File_read_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_CLASS(MPI_File_read_all(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_CLASS(MPI_File_read_ordered(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  int code = MPI_File_iread(file, &number, 1, MPI_INT, &request);
  if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK_CLASS(code, MPI_ERR_ACCESS);
  CHECK_OK(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&file));

  file = open_file(name.c_str(), MPI_MODE_RDONLY);
  CHECK_CLASS(MPI_File_write_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_write_all(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_write_shared(file, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_set_size(file, 100), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_preallocate(file, 100), MPI_ERR_READ_ONLY);
  number = 0;
  CHECK_OK(MPI_File_read_at_all(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_EQ(number, 5);
  CHECK_OK(MPI_File_close(&file));
}

void arguments(const check::Environment& mpi) {
  const Name name("errors");
  MPI_File file = open_file(name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE);
  char data[64] = {};
  CHECK_CLASS(MPI_File_write_at(file, -1, data, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_write_at(file, 0, data, -1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_File_write_at(file, 0, data, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_File_write_at(file, 0, nullptr, 1, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_File_seek(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek(file, 0, 12345), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek_shared(file, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_set_size(file, -1), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_preallocate(file, -1), MPI_ERR_ARG);
  if (mpi.size > 1) {
    CHECK_CLASS(MPI_File_set_size(file, mpi.rank), MPI_ERR_NOT_SAME);
    CHECK_CLASS(MPI_File_seek_shared(file, mpi.rank, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    // Only one rank has wrong arguments: it gets an error, and the others do not wait for it.
    const int count = mpi.rank == 1 ? 1 : 0;
    const int code = MPI_File_write_at_all(file, mpi.rank == 1 ? -1 : 0, data, count, MPI_BYTE, MPI_STATUS_IGNORE);
    if (mpi.rank == 1) CHECK_CLASS(code, MPI_ERR_ARG);
    if (mpi.rank != 1) CHECK_OK(code);
  }
  MPI_Offset offset = -1;
  CHECK_CLASS(MPI_File_get_byte_offset(file, -1, &offset), MPI_ERR_ARG);

  // Views.
  MPI_Datatype backwards = MPI_DATATYPE_NULL, before = MPI_DATATYPE_NULL, twice = MPI_DATATYPE_NULL,
               open = MPI_DATATYPE_NULL;
  const int places[] = {3, 0}, same[] = {1, 1}, negative[] = {-1, 1};
  MPI_Type_create_indexed_block(2, 1, places, MPI_INT, &backwards);
  MPI_Type_create_indexed_block(2, 1, negative, MPI_INT, &before);
  MPI_Type_create_indexed_block(2, 1, same, MPI_INT, &twice);
  MPI_Type_contiguous(2, MPI_INT, &open);
  for (MPI_Datatype* type : {&backwards, &before, &twice}) MPI_Type_commit(type);
  for (MPI_Datatype type : {backwards, before, twice})
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, type, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, open, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_SHORT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_set_view(file, -1, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "cuneiform", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
  for (MPI_Datatype* type : {&backwards, &before, &twice, &open}) MPI_Type_free(type);
  CHECK_OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  CHECK_CLASS(MPI_File_write(file, data, 3, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_ARG);

  // Split collectives.
  CHECK_CLASS(MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  CHECK_OK(MPI_File_write_all_begin(file, data, 1, MPI_INT));
  CHECK_CLASS(MPI_File_write_all_begin(file, data, 1, MPI_INT), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_File_read_all_end(file, data, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  CHECK_CLASS(MPI_File_write_all_end(file, data + 1, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
  CHECK_OK(MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&file));
}

int calls = 0;
int last_class = 0;
MPI_File last_file = MPI_FILE_NULL;
void note(MPI_File* file, int* code, ...) {
  ++calls;
  last_file = *file;
  last_class = check::error_class(*code);
}

void handlers() {
  const Name name("errors");
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL, found = MPI_ERRHANDLER_NULL;
  CHECK_OK(MPI_File_get_errhandler(MPI_FILE_NULL, &found));
  CHECK(found == MPI_ERRORS_RETURN);
  CHECK_OK(MPI_File_create_errhandler(note, &handler));
  // This handler is for files opened later, and for calls without a file.
  CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
  check_open("/nowhere/at/all", MPI_MODE_RDONLY, MPI_ERR_NO_SUCH_FILE);
  CHECK_EQ(calls, 1);
  CHECK_EQ(last_class, MPI_ERR_NO_SUCH_FILE);
  CHECK(last_file == MPI_FILE_NULL);
  MPI_File file = open_file(name.c_str(), MPI_MODE_WRONLY | MPI_MODE_CREATE);
  int number = 0;
  CHECK_CLASS(MPI_File_read_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_EQ(calls, 2);
  CHECK(last_file == file);
  CHECK_OK(MPI_File_call_errhandler(file, MPI_ERR_IO));
  CHECK_EQ(calls, 3);
  CHECK_OK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_File_read_at(file, 0, &number, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_EQ(calls, 3);
  CHECK_OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  CHECK_OK(MPI_Errhandler_free(&handler));
  CHECK_OK(MPI_File_close(&file));
}

// A deleted file remains usable for processes that have it open.
void deleted() {
  const Name name("errors");
  MPI_File file = open_file(name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (check::world_rank() == 0) CHECK_OK(MPI_File_delete(name.c_str(), MPI_INFO_NULL));
  MPI_Barrier(MPI_COMM_WORLD);
  int number = check::world_rank(), found = -1;
  CHECK_OK(MPI_File_write_at_all(file, number * 4, &number, 4, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_at_all(file, number * 4, &found, 4, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK_EQ(found, number);
  check_open(name.c_str(), MPI_MODE_RDWR, MPI_ERR_NO_SUCH_FILE);
  CHECK_OK(MPI_File_close(&file));
}

// A file that may grow to 64 KiB: data reported as written is in the file.
void full(const check::Environment& mpi) {
  const Name name("errors");
  constexpr std::size_t kLimit = 65536;
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  MPI_File file = open_file(name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE);
  const rlimit small{kLimit, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  std::vector<unsigned char> data(2 * kLimit, static_cast<unsigned char>(mpi.rank + 1));
  MPI_Status status;
  // Every rank writes to the same range of the file, independently.
  CHECK_CLASS(MPI_File_write_at(file, 0, data.data(), static_cast<int>(data.size()), MPI_BYTE, &status),
              MPI_ERR_NO_SPACE);
  CHECK_EQ(io_test::count_of(status, MPI_BYTE), static_cast<int>(kLimit));
  MPI_Barrier(MPI_COMM_WORLD);
  // The ranks' data is interleaved, so that some ranks write for others. All ranks return the error.
  MPI_Datatype filetype = MPI_DATATYPE_NULL, block = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(16, MPI_BYTE, &block);
  MPI_Type_create_resized(block, 0, 16 * mpi.size, &filetype);
  MPI_Type_commit(&filetype);
  CHECK_OK(MPI_File_set_view(file, 16 * mpi.rank, MPI_BYTE, filetype, "native", MPI_INFO_NULL));
  CHECK_CLASS(MPI_File_write_at_all(file, 0, data.data(), static_cast<int>(data.size()), MPI_BYTE, &status),
              MPI_ERR_NO_SPACE);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(MPI_File_iwrite_at_all(file, 0, data.data(), static_cast<int>(data.size()), MPI_BYTE, &request));
  CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_NO_SPACE);
  CHECK_OK(MPI_File_iwrite_at(file, 0, data.data(), static_cast<int>(data.size()), MPI_BYTE, &request));
  CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_NO_SPACE);
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK_OK(MPI_File_write_at_all(file, 0, data.data(), static_cast<int>(data.size()), MPI_BYTE, &status));
  CHECK_OK(MPI_File_close(&file));
  MPI_Type_free(&filetype);
  MPI_Type_free(&block);
  if (mpi.rank == 0) CHECK_EQ(io_test::content(name.c_str()).size(), data.size() * static_cast<std::size_t>(mpi.size));
}

// A full file system, if a process may mount one and all ranks see it. Ranks on other hosts do not see it, even if they
// see its directory.
void no_space(const check::Environment& mpi) {
  char directory[] = "/tmp/headrace-full-XXXXXX";  // a mount in a directory of another run would be in the way of both
  int mounted = 0;
  if (mpi.rank == 0) CHECK(::mkdtemp(directory) != nullptr);
  MPI_Bcast(directory, sizeof directory, MPI_CHAR, 0, MPI_COMM_WORLD);
  const std::string mark = std::string(directory) + "/mark";
  if (mpi.rank == 0 && ::geteuid() == 0) {
    mounted = ::mount("tmpfs", directory, "tmpfs", 0, "size=128k") == 0 ? 1 : 0;
    if (mounted != 0) io_test::put_content(mark.c_str(), {1});
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int seen = mpi.rank == 0 ? mounted : (::access(mark.c_str(), F_OK) == 0 ? 1 : 0);
  MPI_Allreduce(MPI_IN_PLACE, &seen, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (seen == 0) {
    if (mounted != 0) CHECK_EQ(::umount(directory), 0);
    if (mpi.rank == 0) ::rmdir(directory);
    return;
  }
  const std::string name = std::string(directory) + "/file";
  MPI_File file = open_file(name.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE);
  CHECK_CLASS(MPI_File_preallocate(file, 1 << 20), MPI_ERR_NO_SPACE);
  std::vector<unsigned char> data(1 << 18, 7);
  MPI_Status status;
  const int code = MPI_File_write_at(file, 0, data.data(), 1 << 18, MPI_BYTE, &status);
  CHECK_CLASS(code, MPI_ERR_NO_SPACE);
  CHECK(io_test::count_of(status, MPI_BYTE) < 1 << 18);
  CHECK_OK(MPI_File_close(&file));
  MPI_Barrier(MPI_COMM_WORLD);
  if (mpi.rank == 0) {
    ::unlink(name.c_str());
    CHECK_EQ(::umount(directory), 0);
    ::rmdir(directory);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

// Permissions matter only for users other than root.
void permissions(const check::Environment& mpi) {
  const Name name("errors");
  if (mpi.rank == 0) {
    io_test::put_content(name.c_str(), {1, 2, 3});
    ::chmod(name.c_str(), 0444);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const uid_t before = ::geteuid();
  if (before == 0) CHECK_EQ(::seteuid(65534), 0);
  check_open(name.c_str(), MPI_MODE_RDWR, MPI_ERR_ACCESS);
  check_open("/root/file", MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_ERR_ACCESS);
  MPI_File file = open_file(name.c_str(), MPI_MODE_RDONLY);
  CHECK_OK(MPI_File_close(&file));
  if (before == 0) CHECK_EQ(::seteuid(0), 0);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  check::Environment mpi(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  opening(mpi);
  accesses();
  arguments(mpi);
  handlers();
  deleted();
  full(mpi);
  no_space(mpi);
  permissions(mpi);
  return 0;
}
