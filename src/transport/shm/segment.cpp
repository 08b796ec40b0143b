#include "transport/shm/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace hr::transport::shm {
namespace {

constexpr std::size_t kPage = 4096;

// First bytes of the file.
struct Head {
  alignas(kLine) std::atomic<std::uint32_t> attached;
};

Status file_error(const char* what, const std::string& path, std::size_t wanted, int error) {
  struct statvfs space{};
  const std::string directory = path.substr(0, path.rfind('/'));
  unsigned long long free_bytes = 0;
  if (::statvfs(directory.c_str(), &space) == 0) {
    free_bytes = static_cast<unsigned long long>(space.f_bavail) * space.f_frsize;
  }
  return fail(
      Errc::kOther,
      "could not %s the shared-memory file %s: %s (%zu KiB wanted, %llu KiB free in %s). Free space there, make "
      "rings smaller with HEADRACE_SHM_RING_BYTES, or place the file elsewhere with HEADRACE_SHM_DIR=<directory>",
      what, path.c_str(), std::strerror(error), wanted / 1024, free_bytes / 1024, directory.c_str());
}

}  // namespace

Segment::~Segment() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
  if (file_ >= 0) ::close(file_);
}

Status Segment::map(int processes, std::size_t payload_bytes) {
  processes_ = processes;
  payload_bytes_ = payload_bytes;
  const std::size_t control =
      sizeof(Head) + kLine + Doorbell::footprint(processes) * static_cast<std::size_t>(processes);
  control_bytes_ = (control + kPage - 1) / kPage * kPage;
  bytes_ = control_bytes_ +
           static_cast<std::size_t>(processes) * static_cast<std::size_t>(processes) * ring_footprint(payload_bytes);
  return kOk;
}

Status Segment::create(const std::string& path, int processes, std::size_t payload_bytes) {
  path_ = path;
  HR_TRY(map(processes, payload_bytes));
  file_ = ::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  if (file_ < 0) return file_error("create", path, control_bytes_, errno);
  if (::ftruncate(file_, static_cast<off_t>(bytes_)) != 0) {
    const int error = errno;
    ::unlink(path.c_str());
    return file_error("size", path, bytes_, error);
  }
  if (const int error = ::posix_fallocate(file_, 0, static_cast<off_t>(control_bytes_)); error != 0) {
    ::unlink(path.c_str());
    return file_error("reserve memory for", path, control_bytes_, error);
  }
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) {
    const int error = errno;
    ::unlink(path.c_str());
    return file_error("map", path, bytes_, error);
  }
  base_ = static_cast<std::byte*>(memory);
  count_attached();
  return kOk;
}

Status Segment::attach(const std::string& path, int processes, std::size_t payload_bytes) {
  path_ = path;
  HR_TRY(map(processes, payload_bytes));
  file_ = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file_ < 0) return file_error("open", path, bytes_, errno);
  void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (memory == MAP_FAILED) return file_error("map", path, bytes_, errno);
  base_ = static_cast<std::byte*>(memory);
  count_attached();
  return kOk;
}

void Segment::count_attached() {
  auto* head = reinterpret_cast<Head*>(base_);
  if (head->attached.fetch_add(1) + 1 == static_cast<std::uint32_t>(processes_)) ::unlink(path_.c_str());
}

Status Segment::reserve(int receiver, int sender) {
  const std::size_t wanted = ring_footprint(payload_bytes_);
  const int error =
      ::posix_fallocate(file_, static_cast<off_t>(ring_offset(receiver, sender)), static_cast<off_t>(wanted));
  return error == 0 ? kOk : file_error("reserve memory for messages in", path_, wanted, error);
}

Doorbell* Segment::doorbell(int process) const noexcept {
  return reinterpret_cast<Doorbell*>(base_ + 2 * kLine +
                                     Doorbell::footprint(processes_) * static_cast<std::size_t>(process));
}

RingMemory* Segment::ring(int receiver, int sender) const noexcept {
  return reinterpret_cast<RingMemory*>(base_ + ring_offset(receiver, sender));
}

std::size_t Segment::ring_offset(int receiver, int sender) const noexcept {
  const auto index =
      static_cast<std::size_t>(receiver) * static_cast<std::size_t>(processes_) + static_cast<std::size_t>(sender);
  return control_bytes_ + index * ring_footprint(payload_bytes_);
}

}  // namespace hr::transport::shm
