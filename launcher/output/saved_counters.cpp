#include "output/saved_counters.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/secret.hpp"

namespace hr::launcher {
namespace {

// Limit of a page's size: far more than a page needs, and less than a frame.
constexpr std::size_t kLargestPage = std::size_t{8} << 20;
// Offset of the page's size in its header.
constexpr off_t kSizeAt = 16;

}  // namespace

Descriptor open_page(int pid, int file) {
  const std::string path = "/proc/" + std::to_string(pid) + "/fd/" + std::to_string(file);
  char target[64] = {};
  const ssize_t length = ::readlink(path.c_str(), target, sizeof target - 1);
  const bool is_page = length > 0 && std::string_view(target).starts_with("/memfd:headrace.");
  // Opens the page for writing, as the process itself does: processes that open it only for reading count as readers.
  return Descriptor(is_page ? ::open(path.c_str(), O_RDWR | O_CLOEXEC) : -1);
}

std::string read_page(const Descriptor& page) {
  struct stat state{};
  if (!page.is_open() || ::fstat(page.get(), &state) != 0) return {};
  // The file has space for parts that are not used; the header contains the end of the used ones (docs/counters.md).
  std::uint64_t used = 0;
  if (::pread(page.get(), &used, sizeof used, kSizeAt) != sizeof used || used == 0) used = kLargestPage;
  const std::size_t bytes =
      std::min({static_cast<std::size_t>(state.st_size), static_cast<std::size_t>(used), kLargestPage});
  std::string text(bytes, '\0');
  const ssize_t got = ::pread(page.get(), text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

SavedCounters::~SavedCounters() {
  if (!unfinished_.empty()) ::unlink(unfinished_.c_str());
}

std::string SavedCounters::problem() const {
  return "--save-counters: cannot write " + path_ + ": " + std::strerror(errno != 0 ? errno : EIO);
}

std::string SavedCounters::begin() {
  // The name is random, so no other user can have created a link with that name.
  const std::string name = path_ + "." + digits_of(make_nonce());
  errno = 0;
  file_.open(name, std::ios::binary | std::ios::trunc);
  if (!file_) return problem();
  unfinished_ = name;
  file_ << "HRSAVED1";
  return {};
}

void SavedCounters::add(std::string_view page) {
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<char>(static_cast<std::uint64_t>(page.size()) >> (8 * i));
  file_.write(length, sizeof length);
  file_.write(page.data(), static_cast<std::streamsize>(page.size()));
}

std::string SavedCounters::end() {
  errno = 0;
  file_.close();
  if (!file_ || std::rename(unfinished_.c_str(), path_.c_str()) != 0) return problem();
  unfinished_.clear();
  return {};
}

}  // namespace hr::launcher
