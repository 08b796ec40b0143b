#include "output/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

namespace hr::launcher {

int OutputFile::open(const std::string& directory, int rank, int digits, const char* stream) {
  std::string number = std::to_string(rank);
  number.insert(0, static_cast<std::size_t>(digits) - std::min<std::size_t>(number.size(), digits), '0');
  const std::filesystem::path folder = std::filesystem::path(directory) / "1" / ("rank." + number);
  path_ = (folder / stream).string();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return error.value();
  // The directory may be writable for all users: a link created by others is not followed, and opening a FIFO does not
  // wait for a reader.
  file_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666));
  if (!file_.is_open()) return errno;
  struct stat state{};
  if (::fstat(file_.get(), &state) != 0) return errno;
  if (!S_ISREG(state.st_mode)) return EINVAL;
  return ::ftruncate(file_.get(), 0) == 0 ? 0 : errno;
}

void OutputFile::write(std::string_view text) {
  while (file_.is_open() && !text.empty()) {
    const ssize_t count = ::write(file_.get(), text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      std::fprintf(stderr, "mpiexec: %s: %s; the rest of that output is not in the file\n", path_.c_str(),
                   std::strerror(errno));
      file_.close();
      lost_ = true;
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

}  // namespace hr::launcher
