#include "base/own_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/status.hpp"

namespace hr {
namespace {

// Owns a descriptor, and closes it.
struct Open {
  explicit Open(int opened) noexcept : descriptor(opened) {}
  ~Open() {
    if (descriptor >= 0) ::close(descriptor);
  }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  int descriptor;
};

const char* kind_of(mode_t mode) noexcept {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "of an unknown kind";
}

Status system_clause(const char* what, int reason) {
  const bool missing = reason == ENOENT || reason == ENOTDIR;
  return fail(missing ? Errc::kNoSuchFile : Errc::kFile, "%s: %s", what, std::strerror(reason));
}

bool is_null_device(const struct stat& state) noexcept {
  return S_ISCHR(state.st_mode) && state.st_rdev == ::makedev(1, 3);
}

bool names_descriptor(std::string_view path) noexcept {
  return path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
}

Status read_all(int descriptor, std::size_t most, std::string* text) {
  char piece[16384];
  for (;;) {
    const ssize_t count = ::read(descriptor, piece, sizeof piece);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_clause("cannot be read", errno);
    if (count == 0) return kOk;
    text->append(piece, static_cast<std::size_t>(count));
    if (text->size() > most) return fail(Errc::kFile, "is larger than %zu KiB", most >> 10);
  }
}

}  // namespace

Status check_own_file(int descriptor, const std::string& path, std::size_t least) {
  struct stat state{};
  if (::fstat(descriptor, &state) != 0)
    return fail(Errc::kOther, "%s cannot be examined: %s", path.c_str(), std::strerror(errno));
  constexpr const char* kRemedy = "remove it, or put the files of jobs elsewhere with HEADRACE_SHM_DIR=<directory>";
  if (!S_ISREG(state.st_mode))
    return fail(Errc::kOther, "%s is %s and no file of this job, and is not used: %s", path.c_str(),
                kind_of(state.st_mode), kRemedy);
  if (state.st_uid != ::geteuid())
    return fail(Errc::kOther, "%s belongs to user %u and not to user %u, who runs this process, and is not used: %s",
                path.c_str(), static_cast<unsigned>(state.st_uid), static_cast<unsigned>(::geteuid()), kRemedy);
  if ((state.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return fail(Errc::kOther, "%s is open to other users (mode %03o), and is not used: %s", path.c_str(),
                static_cast<unsigned>(state.st_mode & 0777), kRemedy);
  if (state.st_nlink > 1)
    return fail(Errc::kOther, "%s has %lu names, and is not used: %s", path.c_str(),
                static_cast<unsigned long>(state.st_nlink), kRemedy);
  if (state.st_size < 0 || static_cast<std::size_t>(state.st_size) < least)
    return fail(Errc::kOther, "%s has %lld bytes where %zu are wanted, and is not used: %s", path.c_str(),
                static_cast<long long>(state.st_size), least, kRemedy);
  return kOk;
}

Owner owner_of(const std::string& path) noexcept {
  struct stat state{};
  if (::lstat(path.c_str(), &state) != 0) return Owner::kNobody;
  return state.st_uid == ::geteuid() ? Owner::kThisUser : Owner::kAnotherUser;
}

Status read_file(const std::string& path, std::size_t most, std::string* text, Pipes pipes) {
  text->clear();
  const Open file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.descriptor < 0) return system_clause("cannot be opened", errno);
  struct stat state{};
  if (::fstat(file.descriptor, &state) != 0) return system_clause("cannot be looked at", errno);
  if (is_null_device(state)) return kOk;
  const bool given = S_ISFIFO(state.st_mode) && pipes == Pipes::kGiven && names_descriptor(path);
  if (!S_ISREG(state.st_mode) && !given) return fail(Errc::kFile, "is %s, not a file", kind_of(state.st_mode));
  if (given) ::fcntl(file.descriptor, F_SETFL, 0);
  if (!given && static_cast<std::size_t>(std::max<off_t>(state.st_size, 0)) > most)
    return fail(Errc::kFile, "is larger than %zu KiB", most >> 10);
  return read_all(file.descriptor, most, text);
}

}  // namespace hr
