// Virtual memory management: physical memory (cuMemCreate), reserved addresses, and mappings of one to the other.
#include <sys/mman.h>
#include <unistd.h>

#include "state.hpp"
#include "stream.hpp"

namespace fake_cuda {
namespace {

constexpr std::size_t kGranularity = 65536;

struct Location {
  int type;
  int id;
};
struct Properties {
  int type;
  int handle_types;
  Location location;
  void* win32;
  unsigned char flags[8];
};
struct Access {
  Location location;
  int flags;
};

// Memory of one cuMemCreate; its own file, so that it can be handed to another process.
struct Physical {
  int file;
  std::size_t bytes;
  int device;
  int handle_types;
  int users;      // the handle itself and each mapping
  bool imported;  // its bytes are counted where it was made
};

std::map<Address, Physical>& physicals() {
  static auto* all = new std::map<Address, Physical>;
  return *all;
}
Address next_handle = 0x1000;

Allocation* reservation(Address address, std::size_t bytes) {
  Allocation* found = find_allocation(address);
  if (found == nullptr || found->kind != Kind::kVmm) return nullptr;
  return bytes <= found->address + found->bytes - address ? found : nullptr;
}

}  // namespace

void drop_physical_handle(Address handle) {
  const auto found = physicals().find(handle);
  if (found == physicals().end() || --found->second.users > 0) return;
  if (!found->second.imported) release_bytes(found->second.device, found->second.bytes);
  ::close(found->second.file);
  physicals().erase(found);
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API Result cuMemGetAllocationGranularity(std::size_t* bytes, const Properties*, int) {
  if (const Result result = require_init(); result != kSuccess) return result;
  *bytes = kGranularity;
  return kSuccess;
}

FAKE_API Result cuMemCreate(Address* handle, std::size_t bytes, const Properties* properties,
                            unsigned long long flags) {
  if (const Result result = require_init(); result != kSuccess) return result;
  const int device = properties->location.id;
  if (flags != 0 || bytes == 0 || bytes % kGranularity != 0 || properties->location.type != 1) return kInvalidValue;
  if (device < 0 || device >= state().devices) return kInvalidDevice;
  std::lock_guard lock(state().mutex);
  if (!reserve_bytes(device, bytes)) return kOutOfMemory;
  const int file = ::memfd_create("fake_cuda_vmm", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0) {
    if (file >= 0) ::close(file);
    release_bytes(device, bytes);
    return kOperatingSystem;
  }
  *handle = next_handle++;
  physicals()[*handle] = {file, bytes, device, properties->handle_types, 1, false};
  return kSuccess;
}

FAKE_API Result cuMemRelease(Address handle) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  if (physicals().count(handle) == 0) return kInvalidValue;
  drop_physical_handle(handle);
  return kSuccess;
}

FAKE_API Result cuMemAddressReserve(Address* address, std::size_t bytes, std::size_t, Address, unsigned long long) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (bytes == 0 || bytes % kGranularity != 0) return kInvalidValue;
  std::lock_guard lock(state().mutex);
  Allocation made;
  made.address = reserve_range(bytes);
  made.bytes = bytes;
  made.kind = Kind::kVmm;
  made.id = state().next_id++;
  *address = made.address;
  state().allocations.emplace(made.address, std::move(made));
  return kSuccess;
}

FAKE_API Result cuMemAddressFree(Address address, std::size_t bytes) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  const auto found = state().allocations.find(address);
  if (found == state().allocations.end() || found->second.kind != Kind::kVmm || found->second.bytes != bytes ||
      !found->second.mappings.empty()) {
    return kInvalidValue;
  }
  release_range(address, bytes);
  state().allocations.erase(found);
  return kSuccess;
}

FAKE_API Result cuMemMap(Address address, std::size_t bytes, std::size_t offset, Address handle, unsigned long long) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  Allocation* range = reservation(address, bytes);
  const auto physical = physicals().find(handle);
  if (range == nullptr || physical == physicals().end() || offset != 0 || bytes != physical->second.bytes) {
    return kInvalidValue;
  }
  for (const auto& [start, mapping] : range->mappings) {
    if (address < start + mapping.bytes && start < address + bytes) return kInvalidValue;
  }
  if (!map_alias(address, bytes, physical->second.file, 0)) return kMapFailed;
  ++physical->second.users;
  range->mappings[address] = {bytes, physical->second.device, handle, {}};
  return kSuccess;
}

FAKE_API Result cuMemUnmap(Address address, std::size_t bytes) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  Allocation* range = reservation(address, bytes);
  if (range == nullptr) return kInvalidValue;
  std::size_t done = 0;
  while (done < bytes) {
    const auto found = range->mappings.find(address + done);
    if (found == range->mappings.end() || found->second.bytes > bytes - done) return kInvalidValue;
    const Mapping gone = found->second;
    unmap_alias(address + done, gone.bytes);
    range->mappings.erase(found);
    drop_physical_handle(gone.handle);
    done += gone.bytes;
  }
  return kSuccess;
}

FAKE_API Result cuMemSetAccess(Address address, std::size_t bytes, const Access* access, std::size_t count) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  Allocation* range = reservation(address, bytes);
  if (range == nullptr) return kInvalidValue;
  std::size_t covered = 0;
  for (auto& [start, mapping] : range->mappings) {
    if (start < address || start >= address + bytes) continue;
    covered += mapping.bytes;
    for (std::size_t i = 0; i < count; ++i) {
      if (access[i].flags == 3) {
        mapping.readers.insert(access[i].location.id);
      } else {
        mapping.readers.erase(access[i].location.id);
      }
    }
  }
  return covered == bytes ? kSuccess : kInvalidValue;
}

// --- handing memory to another process by file descriptor ---

FAKE_API Result cuMemExportToShareableHandle(void* shareable, Address handle, int type, unsigned long long) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  const auto physical = physicals().find(handle);
  if (physical == physicals().end() || type != 1 || (physical->second.handle_types & 1) == 0) return kInvalidValue;
  const int copy = ::dup(physical->second.file);
  if (copy < 0) return kOperatingSystem;
  *static_cast<int*>(shareable) = copy;
  return kSuccess;
}

FAKE_API Result cuMemImportFromShareableHandle(Address* handle, void* shareable, int type) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (type != 1) return kInvalidValue;
  const int file = ::dup(static_cast<int>(reinterpret_cast<std::intptr_t>(shareable)));
  const off_t bytes = file < 0 ? -1 : ::lseek(file, 0, SEEK_END);
  if (bytes <= 0) return kInvalidValue;
  std::lock_guard lock(state().mutex);
  *handle = next_handle++;
  physicals()[*handle] = {file, static_cast<std::size_t>(bytes), 0, 1, 1, true};
  return kSuccess;
}

FAKE_API Result cuMemRetainAllocationHandle(Address* handle, void* pointer) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const Allocation* range = find_allocation(address);
  if (range == nullptr || range->kind != Kind::kVmm) return kInvalidValue;
  auto after = range->mappings.upper_bound(address);
  if (after == range->mappings.begin()) return kInvalidValue;
  const auto& [start, mapping] = *std::prev(after);
  if (address >= start + mapping.bytes) return kInvalidValue;
  ++physicals()[mapping.handle].users;
  *handle = mapping.handle;
  return kSuccess;
}
