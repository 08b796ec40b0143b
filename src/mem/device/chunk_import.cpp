#include "mem/device/chunk_import.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace hr::mem::device {
namespace {

// System calls of Linux 5.3 and 5.6; the numbers are the same on every architecture.
constexpr long kPidfdOpen = 434;
constexpr long kPidfdGetfd = 438;

class Descriptor {
 public:
  explicit Descriptor(long number) noexcept : number_(static_cast<int>(number)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&&) = delete;
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

// True if a resource of this process is temporarily exhausted.
bool exhausted(int error) noexcept { return error == EMFILE || error == ENFILE || error == ENOMEM; }

Status refused(const char* call, const char* why) { return fail(Errc::kUnsupportedOperation, "%s: %s", call, why); }

bool read(const ChunkTableName& name, std::size_t offset, void* to, std::size_t bytes) noexcept {
  const iovec here{to, bytes};
  const iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(name.address + offset)), bytes};
  return ::process_vm_readv(static_cast<pid_t>(name.process), &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

// Duplicates the descriptors that the table lists, and records the lengths of their chunks.
Status take_descriptors(const ChunkTableName& name, std::uint64_t id, std::vector<Descriptor>* taken,
                        MappedChunks* mapped, bool* never) {
  ChunkTable table;
  if (!read(name, 0, &table, sizeof table)) {
    *never = !exhausted(errno);
    return refused("process_vm_readv", std::strerror(errno));
  }
  if (table.stamp != name.stamp) {
    *never = true;
    return refused("process_vm_readv", "another process has that number here");
  }
  if (table.id != id || table.count > kMostChunks) return refused("map_chunks", "the memory is not exported any more");
  const Descriptor process(::syscall(kPidfdOpen, static_cast<pid_t>(name.process), 0));
  if (process.number() < 0) {
    *never = !exhausted(errno);
    return refused("pidfd_open", std::strerror(errno));
  }
  for (std::size_t i = 0; i < table.count; ++i) {
    Descriptor copy(::syscall(kPidfdGetfd, process.number(), static_cast<int>(table.chunks[i].descriptor), 0));
    if (copy.number() < 0) {
      // EBADF: the descriptor has been closed there, as the memory is no longer exported.
      *never = !exhausted(errno) && errno != EBADF && errno != ESRCH;
      return refused("pidfd_getfd", std::strerror(errno));
    }
    taken->push_back(std::move(copy));
    mapped->chunks.push_back(table.chunks[i].bytes);
    mapped->bytes += table.chunks[i].bytes;
  }
  std::uint64_t still = 0;
  if (!read(name, offsetof(ChunkTable, id), &still, sizeof still) || still != id)
    return refused("map_chunks", "the memory is not exported any more");
  return kOk;
}

Result map(DeviceAddress address, std::uint64_t bytes, const Descriptor& descriptor) {
  ChunkHandle handle = 0;
  if (const Result result = driver().chunk_import(&handle, descriptor.number()); result != kSuccess) return result;
  const Result result = driver().chunk_map(address, bytes, 0, handle, 0);
  (void)driver().chunk_release(handle);  // the mapping keeps the memory
  return result;
}

// *done: number of chunks that are mapped.
Result map_all(const Context& context, const std::vector<Descriptor>& descriptors, const MappedChunks& mapped,
               std::size_t* done) {
  DeviceAddress at = mapped.base;
  for (*done = 0; *done < descriptors.size(); ++*done) {
    const std::uint64_t bytes = mapped.chunks[*done];
    if (const Result result = map(at, bytes, descriptors[*done]); result != kSuccess) return result;
    at += bytes;
  }
  MappingAccess access;
  access.device = context.device();
  return driver().set_access(mapped.base, mapped.bytes, &access, 1);
}

// Unmaps the first `count` chunks, and frees the address range.
void unmap(const MappedChunks& mapped, std::size_t count) noexcept {
  DeviceAddress at = mapped.base;
  for (std::size_t i = 0; i < count; ++i) {
    (void)driver().chunk_unmap(at, mapped.chunks[i]);
    at += mapped.chunks[i];
  }
  (void)driver().address_free(mapped.base, mapped.bytes);
}

}  // namespace

Status map_chunks(const Context& context, const ChunkTableName& table, std::uint64_t id, MappedChunks* mapped,
                  bool* never) {
  *never = false;
  if (!driver().has_chunks) {
    *never = true;
    return refused("map_chunks", "the driver cannot");
  }
  std::vector<Descriptor> descriptors;
  HR_TRY(take_descriptors(table, id, &descriptors, mapped, never));
  Result result = driver().address_reserve(&mapped->base, mapped->bytes, 0, 0, 0);
  if (result == kSuccess) {
    std::size_t done = 0;
    result = map_all(context, descriptors, *mapped, &done);
    if (result == kSuccess) return kOk;
    unmap(*mapped, done);
  }
  *never = result != kOutOfMemory;
  return refused("mapping memory in chunks", error_text(result).name);
}

void unmap_chunks(const MappedChunks& mapped) noexcept { unmap(mapped, mapped.chunks.size()); }

}  // namespace hr::mem::device
