#include "io/posix_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace hr::io {
namespace {

// Maximum number of bytes that one system call moves.
constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;

struct ErrorClass {
  int code;
  Errc error_class;
  const char* remedy;
};
constexpr ErrorClass kClasses[] = {
    {ENOENT, Errc::kNoSuchFile, "; MPI_MODE_CREATE makes files, not directories"},
    {ESTALE, Errc::kNoSuchFile, "; another host has removed it"},
    {EACCES, Errc::kAccess, "; ask for less, or change its permissions"},
    {EPERM, Errc::kAccess, ""},
    {EROFS, Errc::kReadOnly, "; open it with MPI_MODE_RDONLY"},
    {EEXIST, Errc::kFileExists, "; leave out MPI_MODE_EXCL to use it"},
    {ENOSPC, Errc::kNoSpace, "; free some, or write elsewhere"},
    {EFBIG, Errc::kNoSpace, "; the file may not become that long (ulimit -f)"},
    {EDQUOT, Errc::kQuota, "; free some, or write elsewhere"},
    {ENAMETOOLONG, Errc::kBadFile, ""},
    {ENOTDIR, Errc::kBadFile, ""},
    {EISDIR, Errc::kBadFile, ""},
    {ELOOP, Errc::kBadFile, ""},
    {ENXIO, Errc::kBadFile, ""},
    {ETXTBSY, Errc::kFileInUse, "; it is being executed"},
    {EBUSY, Errc::kFileInUse, ""},
    {EMFILE, Errc::kOther, "; close some files, or raise ulimit -n"},
    {ENOMEM, Errc::kNoMem, ""},
};

}  // namespace

Status system_error(int code, const char* what, const std::string& path) {
  const ErrorClass* found = nullptr;
  for (const ErrorClass& each : kClasses) {
    if (each.code == code) found = &each;
  }
  return fail(found != nullptr ? found->error_class : Errc::kIo, "%s %s: %s%s", what, path.c_str(), std::strerror(code),
              found != nullptr ? found->remedy : "");
}

PosixFile::~PosixFile() { static_cast<void>(::close(descriptor_)); }

Status PosixFile::open(const std::string& path, int flags, unsigned permissions) {
  path_ = path;
  do descriptor_ = ::open(path.c_str(), flags | O_CLOEXEC, permissions);
  while (descriptor_ < 0 && errno == EINTR);
  if (descriptor_ < 0) return system_error(errno, "cannot open", path_);
  struct stat facts{};
  if (::fstat(descriptor_, &facts) == 0 && S_ISDIR(facts.st_mode)) return system_error(EISDIR, "cannot open", path_);
  return kOk;
}

void PosixFile::note_stream() noexcept { stream_ = ::lseek(descriptor_, 0, SEEK_CUR) < 0 && errno == ESPIPE; }

Status PosixFile::close() {
  const int closed = descriptor_ < 0 ? 0 : ::close(descriptor_);
  descriptor_ = -1;
  // Even if interrupted, close() has released the descriptor.
  return closed == 0 || errno == EINTR ? kOk : system_error(errno, "closing", path_);
}

Status PosixFile::read(Count offset, std::byte* to, std::size_t bytes, std::size_t* done) const {
  for (*done = 0; *done < bytes;) {
    const std::size_t now = std::min(bytes - *done, kMostAtOnce);
    const auto at = static_cast<off_t>(offset + static_cast<Count>(*done));
    const ssize_t moved = stream_ ? ::read(descriptor_, to + *done, now) : ::pread(descriptor_, to + *done, now, at);
    if (moved == 0) return kOk;
    if (moved > 0) {
      *done += static_cast<std::size_t>(moved);
    } else if (errno != EINTR) {
      return system_error(errno, "reading", path_);
    }
  }
  return kOk;
}

Status PosixFile::write(Count offset, const std::byte* from, std::size_t bytes, std::size_t* done) const {
  for (*done = 0; *done < bytes;) {
    const std::size_t now = std::min(bytes - *done, kMostAtOnce);
    const auto at = static_cast<off_t>(offset + static_cast<Count>(*done));
    const ssize_t moved =
        stream_ ? ::write(descriptor_, from + *done, now) : ::pwrite(descriptor_, from + *done, now, at);
    if (moved > 0) {
      *done += static_cast<std::size_t>(moved);
    } else if (moved == 0) {
      return system_error(ENOSPC, "writing", path_);
    } else if (errno != EINTR) {
      return system_error(errno, "writing", path_);
    }
  }
  return kOk;
}

Status PosixFile::size(Count* bytes) const {
  struct stat facts{};
  if (::fstat(descriptor_, &facts) != 0) return system_error(errno, "asking for the size of", path_);
  *bytes = facts.st_size;
  return kOk;
}

Status PosixFile::resize(Count bytes) const {
  int code = 0;
  do code = ::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  while (code == EINTR);
  return code == 0 ? kOk : system_error(code, "changing the size of", path_);
}

Status PosixFile::reserve(Count bytes) const {
  int code = 0;
  do code = ::posix_fallocate(descriptor_, 0, static_cast<off_t>(bytes));
  while (code == EINTR);
  return code == 0 ? kOk : system_error(code, "reserving space for", path_);
}

Status PosixFile::sync() const {
  int code = 0;
  do code = ::fsync(descriptor_) == 0 ? 0 : errno;
  while (code == EINTR);
  // A file that is not on disk, such as a pipe, has no data to make durable.
  return code == 0 || code == EINVAL ? kOk : system_error(code, "syncing", path_);
}

Status unlink(const std::string& path) {
  return ::unlink(path.c_str()) == 0 ? kOk : system_error(errno, "cannot delete", path);
}

}  // namespace hr::io
