#include "base/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hr {

SharedFile::~SharedFile() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  if (file_ >= 0) ::close(file_);
}

Status SharedFile::error(const char* what, std::size_t wanted, int code) const {
  struct statvfs space{};
  const std::string directory = path_.substr(0, path_.rfind('/'));
  unsigned long long free_bytes = 0;
  if (::statvfs(directory.c_str(), &space) == 0) {
    free_bytes = static_cast<unsigned long long>(space.f_bavail) * space.f_frsize;
  }
  return fail(Errc::kOther,
              "could not %s the shared-memory file %s: %s (%zu KiB wanted, %llu KiB free in %s). Free space there, %s, "
              "or place the file elsewhere with HEADRACE_SHM_DIR=<directory>",
              what, path_.c_str(), std::strerror(code), wanted / 1024, free_bytes / 1024, directory.c_str(), remedy_);
}

Status SharedFile::open(const std::string& path, int flags, const char* what, std::size_t bytes) {
  path_ = path;
  bytes_ = bytes;
  file_ = ::open(path.c_str(), flags | O_RDWR | O_CLOEXEC, 0600);
  return file_ >= 0 ? kOk : error(what, bytes, errno);
}

Status SharedFile::map() {
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) return error("map", bytes_, errno);
  data_ = static_cast<std::byte*>(memory);
  return kOk;
}

Status SharedFile::create(const std::string& path, std::size_t bytes, std::size_t reserved) {
  HR_TRY(open(path, O_CREAT | O_EXCL, "create", bytes));
  Status status = kOk;
  if (::ftruncate(file_, static_cast<off_t>(bytes)) != 0) status = error("size", bytes, errno);
  if (status.ok()) status = reserve(0, reserved);
  if (status.ok()) status = map();
  if (!status.ok()) unlink();
  return status;
}

Status SharedFile::attach(const std::string& path, std::size_t bytes) {
  HR_TRY(open(path, 0, "open", bytes));
  return map();
}

Status SharedFile::reserve(std::size_t offset, std::size_t bytes) {
  const int code = ::posix_fallocate(file_, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  return code == 0 ? kOk : error("reserve memory in", bytes, code);
}

void SharedFile::map_pages() const noexcept {
#ifdef MADV_POPULATE_WRITE
  static_cast<void>(::madvise(data_, bytes_, MADV_POPULATE_WRITE));
#endif
}

void SharedFile::unlink() noexcept { ::unlink(path_.c_str()); }

}  // namespace hr
