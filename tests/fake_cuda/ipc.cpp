// Legacy IPC: memory of cuMemAlloc in another process, by its memory file.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "state.hpp"
#include "stream.hpp"

namespace fake_cuda {
namespace {

struct Handle {
  std::uint32_t magic;
  std::int32_t process;
  std::int32_t file;
  std::int32_t device;
  std::uint64_t offset;
  std::uint64_t bytes;
  std::uint64_t id;
  unsigned char reserved[24];
};
static_assert(sizeof(Handle) == 64);
constexpr std::uint32_t kMagic = 0x43504946;

// Opened handles by (process, id of the allocation there, context).
std::map<std::tuple<int, std::uint64_t, Context*>, Address>& opened() {
  static auto* all = new std::map<std::tuple<int, std::uint64_t, Context*>, Address>;
  return *all;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API Result cuIpcGetMemHandle(Handle* handle, Address address) {
  if (!initialized()) return kNotInitialized;
  std::lock_guard lock(state().mutex);
  const Allocation* found = find_allocation(address);
  if (found == nullptr || found->kind != Kind::kDevice) return kInvalidValue;
  *handle = {kMagic, ::getpid(), memory_file(), found->device, found->physical, found->bytes, found->id, {}};
  return kSuccess;
}

FAKE_API Result cuIpcOpenMemHandle_v2(Address* address, Handle handle, unsigned flags) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  if (handle.magic != kMagic || flags != 1) return kInvalidValue;
  if (handle.process == ::getpid()) return kInvalidContext;
  std::lock_guard lock(state().mutex);
  const auto key = std::tuple(int{handle.process}, handle.id, context);
  if (const auto known = opened().find(key); known != opened().end()) {
    *address = known->second;
    ++state().allocations[known->second].opened;
    return kSuccess;
  }
  const std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return kMapFailed;
  Allocation made;
  made.address = reserve_range(handle.bytes);
  const bool mapped = map_alias(made.address, handle.bytes, file, handle.offset);
  ::close(file);
  if (!mapped) return kMapFailed;
  made.bytes = handle.bytes;
  made.kind = Kind::kImported;
  made.device = handle.device;
  made.context = context;
  made.id = state().next_id++;
  made.opened = 1;
  *address = made.address;
  opened()[key] = made.address;
  state().allocations.emplace(made.address, made);
  return kSuccess;
}

FAKE_API Result cuIpcCloseMemHandle(Address address) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  synchronize_context(context);
  std::lock_guard lock(state().mutex);
  const auto found = state().allocations.find(address);
  if (found == state().allocations.end() || found->second.kind != Kind::kImported) return kInvalidValue;
  if (--found->second.opened > 0) return kSuccess;
  unmap_alias(address, found->second.bytes);
  release_range(address, found->second.bytes);
  state().allocations.erase(found);
  for (auto it = opened().begin(); it != opened().end(); ++it) {
    if (it->second == address) {
      opened().erase(it);
      break;
    }
  }
  return kSuccess;
}
