// Files without offsets, opened with MPI_MODE_SEQUENTIAL (MPI 5.0 section 14.2.1): pipes, and a rank's /dev/stdout,
// which is a pipe under mpiexec. Data arrives in the order of the calls. Without that mode, such files are refused.
#include <array>
#include <cstring>
#include <numeric>

#include "io_test.hpp"

namespace {

class Pipe {
 public:
  Pipe() { CHECK(::pipe(ends_) == 0); }
  ~Pipe() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] MPI_File open(int end, int amode) const {
    MPI_File file = MPI_FILE_NULL;
    const std::string path = "/dev/fd/" + std::to_string(ends_[end]);
    CHECK_OK(MPI_File_open(MPI_COMM_SELF, path.c_str(), amode, MPI_INFO_NULL, &file));
    return file;
  }

 private:
  int ends_[2];
};

void through_a_pipe() {
  const Pipe pipe;
  MPI_File out = pipe.open(1, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
  MPI_File in = pipe.open(0, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL);
  constexpr int kEach = 500;
  std::array<int, 4 * kEach> sent{}, got{};
  std::iota(sent.begin(), sent.end(), 3);
  MPI_Request request;
  CHECK_OK(MPI_File_write_shared(out, &sent[0], kEach, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_iwrite_shared(out, &sent[kEach], kEach, MPI_INT, &request));
  CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_write_ordered(out, &sent[2 * kEach], 2 * kEach, MPI_INT, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_read_ordered(in, &got[0], kEach, MPI_INT, MPI_STATUS_IGNORE));
  MPI_Status status;
  int count = -1;
  CHECK_OK(MPI_File_read_shared(in, &got[kEach], 3 * kEach, MPI_INT, &status));
  CHECK_OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK_EQ(count, 3 * kEach);
  CHECK(got == sent);
  CHECK_OK(MPI_File_close(&in));
  CHECK_OK(MPI_File_close(&out));
}

void without_the_mode() {
  const Pipe pipe;
  MPI_File out = pipe.open(1, MPI_MODE_WRONLY);
  const int value = 1;
  CHECK_CLASS(MPI_File_write_at(out, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_IO);
  CHECK_OK(MPI_File_close(&out));
}

void to_standard_output(const check::Environment& mpi) {
  MPI_File out = MPI_FILE_NULL;
  CHECK_OK(MPI_File_open(MPI_COMM_WORLD, "/dev/stdout", MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &out));
  const std::string line = "rank " + std::to_string(mpi.rank) + " wrote this to /dev/stdout\n";
  CHECK_OK(MPI_File_write_ordered(out, line.data(), static_cast<int>(line.size()), MPI_CHAR, MPI_STATUS_IGNORE));
  CHECK_OK(MPI_File_close(&out));
}

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv);
  through_a_pipe();
  without_the_mode();
  to_standard_output(mpi);
  return 0;
}
