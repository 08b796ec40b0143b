#include "transport/shm/remote.hpp"

#include <sys/uio.h>

#include <cerrno>
#include <cstring>

namespace hr::transport::shm {
namespace {

Status copy(decltype(&::process_vm_readv) call, const char* name, const Process& process, std::uint64_t address,
            std::byte* local, std::size_t bytes) {
  std::size_t done = 0;
  while (done < bytes) {
    const iovec local_part{local + done, bytes - done};
    const iovec remote_part{reinterpret_cast<void*>(address + done), bytes - done};
    const ssize_t moved = call(process.pid, &local_part, 1, &remote_part, 1, 0);
    if (moved <= 0) {
      return fail(Errc::kUnsupportedOperation, "%s, rank %d (pid %d): %s", name, process.rank,
                  static_cast<int>(process.pid), std::strerror(errno));
    }
    done += static_cast<std::size_t>(moved);
  }
  return kOk;
}

}  // namespace

Status read_process(const Process& from, std::uint64_t address, void* to, std::size_t bytes) {
  return copy(&::process_vm_readv, "process_vm_readv", from, address, static_cast<std::byte*>(to), bytes);
}

Status write_process(const Process& to, std::uint64_t address, const void* from, std::size_t bytes) {
  return copy(&::process_vm_writev, "process_vm_writev", to, address, static_cast<std::byte*>(const_cast<void*>(from)),
              bytes);
}

}  // namespace hr::transport::shm
