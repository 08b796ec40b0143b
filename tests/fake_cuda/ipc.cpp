// Legacy IPC: memory of cuMemAlloc in another process of the job, accessed through its memory file. Memory that is
// freed while it is open elsewhere keeps its content, and its bytes stay in use (job.hpp).
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "state.hpp"
#include "stream.hpp"

namespace fake_cuda {
namespace {

struct Handle {
  std::uint32_t magic;
  job::Maker maker;
  std::int32_t process;
  std::int32_t file;
  std::int32_t device;  // its number on the machine
  std::uint64_t offset;
  std::uint64_t bytes;
  job::Export exported;
  std::uint64_t job;
  Address address;  // in the process
};
static_assert(sizeof(Handle) == 64);
constexpr std::uint32_t kMagic = 0x43504946;
constexpr unsigned kLazyEnablePeerAccess = 1;
constexpr std::uint64_t kSmallBytes = std::uint64_t{1} << 20;

struct Opened {
  std::uint32_t serial;
  Context* context;
  Address address;
  std::int32_t process;
  Address exported, end;  // in the process
};
std::vector<Opened>& opened() {
  static auto* all = new std::vector<Opened>;
  return *all;
}

// Returns the number in this process of a device of the machine; -1 if it is not visible here.
int visible_number(int physical) {
  const std::vector<int>& all = state().physical;
  const auto found = std::find(all.begin(), all.end(), physical);
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

bool map_memory(const Handle& handle, Address address) {
  const std::string path = "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  const bool mapped = map_alias(address, handle.bytes, file, handle.offset);
  ::close(file);
  return mapped;
}

}  // namespace

void close_import(const Allocation& import) {
  std::erase_if(opened(), [&](const Opened& entry) { return entry.address == import.address; });
  const bool elsewhere = std::any_of(opened().begin(), opened().end(),
                                     [&](const Opened& entry) { return entry.serial == import.exported.serial; });
  if (!elsewhere) job::close(import.exported);
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API Result cuIpcGetMemHandle(Handle* handle, Address address) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (current_context() == nullptr) return kInvalidContext;
  std::lock_guard lock(state().mutex);
  Allocation* found = find_allocation(address);
  if (found == nullptr || found->kind != Kind::kDevice) return kInvalidValue;
  const int device = state().physical[static_cast<std::size_t>(found->device)];
  if (found->exported.place < 0) found->exported = job::publish(device, found->bytes);
  if (found->exported.place < 0) return kOutOfMemory;
  *handle = {kMagic,          job::maker(), ::getpid(),      memory_file(),   device,
             found->physical, found->bytes, found->exported, job::identity(), found->address};
  return kSuccess;
}

FAKE_API Result cuIpcOpenMemHandle_v2(Address* address, Handle handle, unsigned flags) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  if (handle.magic != kMagic || handle.maker != job::maker() || flags != kLazyEnablePeerAccess) return kInvalidValue;
  if (handle.process == ::getpid()) return kInvalidContext;
  if (handle.job != job::identity()) {
    std::fprintf(stderr, "fake_cuda: memory of a process of another job (set FAKE_CUDA_SHARED alike in both)\n");
    return kInvalidValue;
  }
  std::lock_guard lock(state().mutex);
  const int here = state().physical[static_cast<std::size_t>(context->device)];
  if (handle.device != here && !peers(handle.device, here)) return kPeerAccessUnsupported;
  for (const Opened& known : opened()) {
    if (known.serial != handle.exported.serial || known.context != context) continue;
    *address = known.address;
    ++state().allocations[known.address].opened;
    return kSuccess;
  }
  // Small allocations share blocks of memory: an older mapping of the same place must be closed first.
  for (const Opened& known : opened()) {
    if (handle.bytes <= kSmallBytes && known.process == handle.process && known.context == context &&
        known.exported < handle.address + handle.bytes && handle.address < known.end)
      return kAlreadyMapped;
  }
  if (!job::open(handle.exported)) return kInvalidValue;
  Allocation made;
  made.address = reserve_range(handle.bytes);
  made.bytes = handle.bytes;
  made.kind = Kind::kImported;
  made.device = visible_number(handle.device) < 0 ? context->device : visible_number(handle.device);
  made.context = context;
  made.id = state().next_id++;
  made.opened = 1;
  made.exported = handle.exported;
  if (!map_memory(handle, made.address)) {
    release_range(made.address, made.bytes);
    close_import(made);
    return kMapFailed;
  }
  opened().push_back(
      {handle.exported.serial, context, made.address, handle.process, handle.address, handle.address + handle.bytes});
  *address = made.address;
  state().allocations.emplace(made.address, made);
  return kSuccess;
}

FAKE_API Result cuIpcCloseMemHandle(Address address) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  Context* owner = nullptr;
  {
    std::lock_guard lock(state().mutex);
    const auto found = state().allocations.find(address);
    if (found == state().allocations.end() || found->second.kind != Kind::kImported) return kInvalidValue;
    if (--found->second.opened > 0) return kSuccess;
    owner = found->second.context;
  }
  synchronize_context(owner);  // work that uses the memory is completed first
  std::lock_guard lock(state().mutex);
  const auto found = state().allocations.find(address);
  if (found == state().allocations.end() || found->second.opened > 0) return kSuccess;  // another thread was quicker
  return release_guarded(address);
}

// --- not emulated; callers must do without ---

FAKE_API Result cuIpcGetEventHandle(void*, void*) {
  const Result result = require_init();
  return result == kSuccess ? kNotSupported : result;
}
FAKE_API Result cuIpcOpenEventHandle(void**, Handle) {
  const Result result = require_init();
  return result == kSuccess ? kNotSupported : result;
}
FAKE_API Result cuMemGetHandleForAddressRange(void*, Address, std::size_t, int, unsigned long long) {
  const Result result = require_init();
  return result == kSuccess ? kNotSupported : result;
}
