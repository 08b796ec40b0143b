#include "base/shared_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "base/log.hpp"
#include "base/own_files.hpp"

namespace hr {
namespace {

// Returns the target of a link under /proc; empty if it cannot be read.
std::string target_of(const std::string& link) {
  char text[512];
  const ssize_t length = ::readlink(link.c_str(), text, sizeof text);
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
}

// True if this process is in the launcher's namespace of that kind ("pid", "user"), or in the machine's if the
// launcher's is not visible because it belongs to another user. The launcher's other processes are then most likely in
// that namespace, too.
bool in_launchers(const char* kind, const char* machines) {
  const std::string own = target_of(std::string("/proc/self/ns/") + kind);
  const std::string parents = target_of("/proc/" + std::to_string(::getppid()) + "/ns/" + kind);
  return !own.empty() && own == (parents.empty() ? std::string(machines) : parents);
}

bool names_needed = false;

constexpr std::string_view kProcesses = "/proc/";
// Flags for open(): the name may be another user's symbolic link, or a FIFO.
constexpr int kSafeOpen = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// Returns the target of a descriptor's link in /proc, such as "/dev/shm/#1234", the system's notation for a file
// without a name. Returns any other path unchanged.
std::string place_of(const std::string& path) {
  if (!path.starts_with(kProcesses)) return path;
  const std::string target = target_of(path);
  return target.starts_with('/') ? target.substr(0, target.find(" (deleted)")) : path;
}

// True if processes that were started together with this one can open its open files: they see this process under its
// pid, and have permission. The kernel's interface fixes the numbers of a machine's initial namespaces used below.
bool opens_for_siblings() {
  static const bool opens = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 && in_launchers("pid", "pid:[4026531836]") &&
                            in_launchers("user", "user:[4026531837]");
  return opens;
}

// Beginning of the paths that the system shows for files in no directory.
constexpr std::string_view kNoDirectory = "/memfd:";

// The directory of shared memory unless the user names another one.
constexpr std::string_view kUsualDirectory = "/dev/shm/";

// Creates a file in no directory. Returns its descriptor; -1 on failure.
int open_in_no_directory(const char* name) {
  constexpr unsigned kNeverExecuted = 8;  // MFD_NOEXEC_SEAL, which some systems require and old ones do not know
  int file = ::memfd_create(name, MFD_CLOEXEC | kNeverExecuted);
  if (file < 0 && errno == EINVAL) file = ::memfd_create(name, MFD_CLOEXEC);
  if (file >= 0) static_cast<void>(::fchmod(file, 0600));  // check_own_file() would refuse it otherwise
  return file;
}

// Returns the free space of a directory in bytes; the largest number if it is unknown or has no limit.
unsigned long long space_in(const std::string& directory) {
  struct statvfs space{};
  if (::statvfs(directory.c_str(), &space) != 0 || space.f_blocks == 0)
    return std::numeric_limits<unsigned long long>::max();
  return static_cast<unsigned long long>(space.f_bavail) * space.f_frsize;
}

bool room_noted = false;

}  // namespace

std::size_t largest_file() noexcept {
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return limited ? static_cast<std::size_t>(limit.rlim_cur) : std::numeric_limits<std::size_t>::max();
}

SharedFile::~SharedFile() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
  if (file_ >= 0) ::close(file_);
}

Status SharedFile::error(const char* what, std::size_t wanted, int code) const {
  struct statvfs space{};
  // The process whose descriptor the path names may have ended; this process's own descriptor shows the same path.
  const bool foreign = file_ >= 0 && path_.starts_with(kProcesses);
  const std::string path = place_of(foreign ? "/proc/self/fd/" + std::to_string(file_) : path_);
  const std::string directory = path.substr(0, path.rfind('/'));
  if (path.starts_with(kNoDirectory)) {
    return fail(Errc::kOther, "could not %s shared memory: %s (%zu KiB wanted). Free memory, or %s", what,
                std::strerror(code), wanted / 1024, remedy_);
  }
  constexpr const char* kElsewhere = "or place the file elsewhere with HEADRACE_SHM_DIR=<directory>";
  if (code == EROFS || code == EACCES || code == EPERM) {
    return fail(
        Errc::kOther,
        "could not %s the shared-memory file %s: %s. Let this user write in %s (docker run: --tmpfs /dev/shm), %s",
        what, path.c_str(), std::strerror(code), directory.c_str(), kElsewhere);
  }
  if (code == EFBIG) {
    return fail(Errc::kOther,
                "could not %s the shared-memory file %s: %zu KiB wanted, but a file may have at most %zu KiB "
                "(ulimit -f). Raise that limit, or %s",
                what, path.c_str(), wanted / 1024, largest_file() / 1024, remedy_);
  }
  unsigned long long free_bytes = 0;
  if ((file_ >= 0 ? ::fstatvfs(file_, &space) : ::statvfs(directory.c_str(), &space)) == 0) {
    free_bytes = static_cast<unsigned long long>(space.f_bavail) * space.f_frsize;
  }
  return fail(
      Errc::kOther,
      "could not %s the shared-memory file %s: %s (%zu KiB wanted, %llu KiB free in %s). Free space there, %s, %s",
      what, path.c_str(), std::strerror(code), wanted / 1024, free_bytes / 1024, directory.c_str(), remedy_,
      kElsewhere);
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
  HR_TRY(open(path, O_CREAT | O_EXCL | kSafeOpen, "create", bytes));
  return fill(reserved);
}

// Opens a new file without a name, and sets path_. Returns its descriptor; -1 if it has to have a name.
int SharedFile::open_hidden(const std::string& path, std::size_t bytes, Room room) {
  if (names_needed || !opens_for_siblings()) return -1;
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  const unsigned long long space =
      room == Room::kAnywhere ? space_in(directory) : std::numeric_limits<unsigned long long>::max();
  path_ = path;
  int file = -1;
  int reason = ENOSPC;
  if (bytes <= space) {
    file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    reason = errno;
    if (file >= 0 || room == Room::kDirectory) return file;
    if (reason == EOPNOTSUPP || reason == EISDIR) return file;  // the file system requires names
  }
  const std::string name = path.substr(directory.size());
  file = open_in_no_directory(name.c_str());
  if (file < 0) return -1;
  path_ = std::string(kNoDirectory) + name;
  if ((reason == ENOENT || reason == ENOTDIR) && directory != kUsualDirectory && !room_noted) {
    room_noted = true;  // most likely the user's mistake
    log::write(log::Level::kError, "HEADRACE_SHM_DIR=%s: %s; shared memory is in no directory", directory.c_str(),
               std::strerror(reason));
  }
  log::note_once(room_noted, "shared memory is not in %s: %s (up to %zu KiB wanted, %llu KiB free)",
                 directory.substr(0, directory.size() - 1).c_str(), std::strerror(reason), bytes / 1024,
                 space_in(directory) / 1024);
  return file;
}

Status SharedFile::create_hidden(const std::string& path, std::size_t bytes, std::size_t reserved, Room room) {
  file_ = open_hidden(path, bytes, room);
  if (file_ < 0) return create(path, bytes, reserved);
  bytes_ = bytes;
  hidden_ = true;
  return fill(reserved);
}

Status SharedFile::map_all(std::size_t least) {
  HR_TRY(check_own_file(file_, path_, least));
  struct stat state{};
  if (::fstat(file_, &state) != 0) return error("size", bytes_, errno);
  bytes_ = static_cast<std::size_t>(state.st_size);
  return map();
}

Status SharedFile::create_or_attach(const std::string& path, std::size_t bytes, std::size_t reserved,
                                    const std::function<void(std::byte*)>& begin) {
  path_ = path;
  bytes_ = bytes;
  // The name appears and disappears only if another process has failed, so this number of attempts is ample.
  for (int attempt = 0; attempt < 100; ++attempt) {
    file_ = ::open(path.c_str(), O_RDWR | kSafeOpen);
    if (file_ >= 0) return map_all(reserved);
    if (errno != ENOENT) return error("open", bytes, errno);
    HR_TRY(create_apart(reserved));
    begin(data_);
    const int reason = name_apart();
    if (reason == 0) return kOk;
    let_go();
    if (reason != EEXIST) return error("name", bytes, reason);
  }
  return error("open", bytes, ENOENT);
}

// Creates the file without a name, which name_apart() gives it when it is complete: other users who watch the directory
// could otherwise take its final name. If the file system cannot do that, the file first gets another name.
Status SharedFile::create_apart(std::size_t reserved) {
  const std::string path = path_;
  const std::string directory = path.substr(0, path.rfind('/') + 1);
  file_ = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  hidden_ = file_ >= 0;
  if (!hidden_) {
    path_ = path + "." + std::to_string(::getpid());  // fill() removes this name if it fails
    file_ = ::open(path_.c_str(), O_CREAT | O_EXCL | O_RDWR | kSafeOpen, 0600);
    if (file_ < 0) return error("create", bytes_, errno);
  }
  HR_TRY(fill(reserved));
  path_ = path;
  return kOk;
}

// Gives the file its name; returns 0, or errno on failure.
int SharedFile::name_apart() {
  if (std::exchange(hidden_, false)) {
    const std::string link = "/proc/self/fd/" + std::to_string(file_);
    return ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
  }
  const std::string own = path_ + "." + std::to_string(::getpid());
  if (::renameat2(AT_FDCWD, own.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0) return 0;
  const int reason = errno;
  ::unlink(own.c_str());
  return reason;
}

void SharedFile::let_go() noexcept {
  ::munmap(data_, bytes_);
  data_ = nullptr;
  ::close(file_);
  file_ = -1;
}

void SharedFile::need_names(bool need) noexcept { names_needed = need; }

Status SharedFile::fill(std::size_t reserved) {
  Status status = kOk;
  if (bytes_ > largest_file()) {
    status = error("size", bytes_, EFBIG);
  } else if (::ftruncate(file_, static_cast<off_t>(bytes_)) != 0) {
    status = error("size", bytes_, errno);
  }
  if (status.ok()) status = reserve(0, reserved);
  if (status.ok()) status = map();
  if (!status.ok()) unlink();
  return status;
}

std::string SharedFile::name() const { return hidden_ ? name_of(::getpid(), file_) : path_; }

std::string SharedFile::name_of(std::int64_t process, int descriptor) {
  return std::string(kProcesses) + std::to_string(process) + "/fd/" + std::to_string(descriptor);
}

bool SharedFile::in_no_directory() const noexcept { return path_.starts_with(kNoDirectory); }

Status SharedFile::give_name() {
  if (!hidden_) return kOk;
  if (in_no_directory()) {
    file_ = -1;
    return kOk;
  }
  if (::linkat(AT_FDCWD, name().c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0)
    return error("name", bytes_, errno);
  hidden_ = false;
  return kOk;
}

// Follows a link only if the path names another process's descriptor: such a path always ends in a link.
Status SharedFile::attach(const std::string& path, std::size_t bytes) {
  HR_TRY(open(path, path.starts_with(kProcesses) ? 0 : kSafeOpen, "open", bytes));
  HR_TRY(check_own_file(file_, path, bytes));
  return map();
}

int allocate(int file, std::size_t offset, std::size_t bytes) noexcept {
  // A signal undoes what the interrupted call has done, so that a long one might never end under a profiler's timer.
  constexpr int kMostAttempts = 100;
  int code = EINTR;
  for (int attempt = 0; attempt < kMostAttempts && code == EINTR; ++attempt)
    code = ::posix_fallocate(file, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  return code;
}

Status SharedFile::reserve(std::size_t offset, std::size_t bytes) {
  const int code = allocate(file_, offset, bytes);
  return code == 0 ? kOk : error("reserve memory in", bytes, code);
}

void SharedFile::unlink() noexcept {
  if (!hidden_) ::unlink(path_.c_str());
}

}  // namespace hr
