#include "transport/shm/remote.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace hr::transport::shm {
namespace {

// Remaining bytes of some parts, in the form that the system calls require.
class Vectors {
 public:
  explicit Vectors(std::span<const RemotePart> parts) noexcept : count_(parts.size()) {
    for (std::size_t i = 0; i < count_; ++i) {
      local_[i] = {parts[i].local, parts[i].bytes};
      remote_[i] = {reinterpret_cast<void*>(parts[i].address), parts[i].bytes};
    }
    remove(0);
  }
  [[nodiscard]] bool empty() const noexcept { return first_ == count_; }
  [[nodiscard]] const iovec* local() const noexcept { return &local_[first_]; }
  [[nodiscard]] const iovec* remote() const noexcept { return &remote_[first_]; }
  [[nodiscard]] std::size_t count() const noexcept { return count_ - first_; }

  // Removes the first `bytes` bytes, and the empty parts after them.
  void remove(std::size_t bytes) noexcept {
    for (; !empty() && bytes >= local_[first_].iov_len; ++first_) bytes -= local_[first_].iov_len;
    if (empty()) return;
    for (iovec* vector : {&local_[first_], &remote_[first_]}) {
      vector->iov_base = static_cast<std::byte*>(vector->iov_base) + bytes;
      vector->iov_len -= bytes;
    }
  }

 private:
  std::array<iovec, kPartsTogether> local_;
  std::array<iovec, kPartsTogether> remote_;
  std::size_t first_ = 0;
  std::size_t count_;
};

Status copy(decltype(&::process_vm_readv) call, const char* name, const Process& process,
            std::span<const RemotePart> parts) {
  while (!parts.empty()) {
    const std::size_t together = std::min(parts.size(), kPartsTogether);
    for (Vectors left(parts.first(together)); !left.empty();) {
      const ssize_t moved = call(process.pid, left.local(), left.count(), left.remote(), left.count(), 0);
      if (moved <= 0) {
        return fail(Errc::kUnsupportedOperation, "%s, rank %d (pid %d): %s", name, process.rank,
                    static_cast<int>(process.pid), std::strerror(errno));
      }
      left.remove(static_cast<std::size_t>(moved));
    }
    parts = parts.subspan(together);
  }
  return kOk;
}

}  // namespace

Status read_process(const Process& from, std::span<const RemotePart> parts) {
  return copy(&::process_vm_readv, "process_vm_readv", from, parts);
}

Status write_process(const Process& to, std::span<const RemotePart> parts) {
  return copy(&::process_vm_writev, "process_vm_writev", to, parts);
}

}  // namespace hr::transport::shm
