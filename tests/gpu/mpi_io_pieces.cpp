// Files and device memory of many pieces (src/io/device_transfer.hpp): reads that end within the first, a middle or the
// last piece leave the rest of the buffer alone and report the bytes that there were; writes to a full device end with
// an error; blocking and nonblocking, several at once.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "mpi_memory.hpp"

namespace {

using hr::test::DeviceMemory;
using hr::test::MemoryKind;

constexpr std::size_t kPiece = std::size_t{4} << 20;
constexpr unsigned char kPoison = 0xa5;

std::byte value_at(std::size_t index, int seed) noexcept {
  return static_cast<std::byte>((index * 2654435761U + static_cast<std::size_t>(seed)) >> 7);
}

std::vector<std::byte> values(std::size_t bytes, int seed) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = value_at(i, seed);
  return made;
}

// An open file of this process.
class File {
 public:
  explicit File(const std::string& path, int mode) {
    CHECK_OK(MPI_File_open(MPI_COMM_SELF, path.c_str(), mode, MPI_INFO_NULL, &file_));
  }
  ~File() { MPI_File_close(&file_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  operator MPI_File() const { return file_; }

 private:
  MPI_File file_ = MPI_FILE_NULL;
};

std::string scratch(const char* name) {
  const char* const folder = std::getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/headrace-io-pieces-" + name + "-" +
         std::to_string(::getpid());
}

int bytes_of(const MPI_Status& status) {
  int bytes = -1;
  CHECK_OK(MPI_Get_count(&status, MPI_BYTE, &bytes));
  return bytes;
}

MPI_Status access(MPI_File file, bool write, void* memory, std::size_t bytes, bool blocking) {
  MPI_Status status;
  const int count = static_cast<int>(bytes);
  if (blocking) {
    CHECK_OK(write ? MPI_File_write_at(file, 0, memory, count, MPI_BYTE, &status)
                   : MPI_File_read_at(file, 0, memory, count, MPI_BYTE, &status));
    return status;
  }
  MPI_Request request;
  CHECK_OK(write ? MPI_File_iwrite_at(file, 0, memory, count, MPI_BYTE, &request)
                 : MPI_File_iread_at(file, 0, memory, count, MPI_BYTE, &request));
  CHECK_OK(MPI_Wait(&request, &status));
  return status;
}

// Writes a file of `size` bytes from the device, and reads `wanted` bytes of it into other device memory.
void round_trip(std::size_t size, std::size_t wanted, MemoryKind kind, bool blocking) {
  const std::string path = scratch("data");
  const File file(path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
  const std::vector<std::byte> data = values(size, static_cast<int>(size % 251));
  DeviceMemory from(size, kind), into(wanted, kind);
  from.write(data);
  into.fill(kPoison);
  CHECK_EQ(bytes_of(access(file, true, from.get(), size, blocking)), size);
  MPI_Offset length = 0;
  CHECK_OK(MPI_File_get_size(file, &length));
  CHECK_EQ(length, size);
  const std::size_t there = std::min(size, wanted);
  CHECK_EQ(bytes_of(access(file, false, into.get(), wanted, blocking)), there);
  const std::vector<std::byte> found = into.read();
  for (std::size_t i = 0; i < wanted; ++i) {
    if (found[i] != (i < there ? data[i] : std::byte{kPoison}))
      check::fail(__FILE__, __LINE__, "byte " + std::to_string(i) + " of " + std::to_string(wanted) + " is wrong");
  }
}

// More transfers at a time than there is cached pinned memory for.
void several(std::size_t bytes, int number) {
  std::vector<std::unique_ptr<DeviceMemory>> from, into;
  std::vector<std::unique_ptr<File>> files;
  std::vector<MPI_Request> requests(static_cast<std::size_t>(number));
  for (int i = 0; i < number; ++i) {
    from.push_back(std::make_unique<DeviceMemory>(bytes, MemoryKind::kDevice));
    into.push_back(std::make_unique<DeviceMemory>(bytes, MemoryKind::kDevice));
    from.back()->write(values(bytes, i));
    into.back()->fill(kPoison);
    files.push_back(std::make_unique<File>(scratch(std::to_string(i).c_str()),
                                           MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
  }
  for (const bool write : {true, false}) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      CHECK_OK(write
                   ? MPI_File_iwrite_at(*files[i], 0, from[i]->get(), static_cast<int>(bytes), MPI_BYTE, &requests[i])
                   : MPI_File_iread_at(*files[i], 0, into[i]->get(), static_cast<int>(bytes), MPI_BYTE, &requests[i]));
    }
    CHECK_OK(MPI_Waitall(number, requests.data(), MPI_STATUSES_IGNORE));
  }
  for (int i = 0; i < number; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (into[index]->read() != values(bytes, i)) check::fail(__FILE__, __LINE__, "transfer " + std::to_string(i));
  }
}

void full() {
  const File file("/dev/full", MPI_MODE_WRONLY);
  DeviceMemory from(3 * kPiece, MemoryKind::kDevice);
  from.fill(kPoison);
  for (const bool blocking : {true, false}) {
    MPI_Status status;
    const int count = static_cast<int>(from.size());
    int code = MPI_SUCCESS;
    if (blocking) {
      code = MPI_File_write_at(file, 0, from.get(), count, MPI_BYTE, &status);
    } else {
      MPI_Request request;
      CHECK_OK(MPI_File_iwrite_at(file, 0, from.get(), count, MPI_BYTE, &request));
      code = MPI_Wait(&request, &status);
    }
    CHECK_EQ(check::error_class(code), MPI_ERR_NO_SPACE);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (!gpu::available()) {
    std::puts("no GPU");
    return MPI_Finalize();
  }
  gpu::select(0);
  MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (const bool blocking : {true, false}) {
    for (const std::size_t size :
         {std::size_t{1}, kPiece - 1, kPiece, kPiece + 1, 2 * kPiece, 2 * kPiece + 12345, 5 * kPiece}) {
      for (const std::size_t wanted : {size, size + 1, size + kPiece, size + 4 * kPiece}) {
        round_trip(size, wanted, MemoryKind::kDevice, blocking);
      }
    }
    round_trip(3 * kPiece + 1, 6 * kPiece, MemoryKind::kPool, blocking);
  }
  several(2 * kPiece + 7, 5);
  full();
  if (check::world_rank() == 0) std::puts("ok");
  return MPI_Finalize();
}
