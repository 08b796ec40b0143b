// Virtual memory management: physical memory (cuMemCreate), reserved addresses, and mappings of one to the other.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

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

// Memory of one cuMemCreate, in its own file, so that it can be passed to another process.
struct Physical {
  int file = -1;
  std::size_t bytes = 0;
  int device = 0;
  int handle_types = 0;
  int users = 1;          // the handle itself and each mapping
  bool imported = false;  // its bytes are counted where it was created
  job::Export exported;   // once exported: the entry for other processes
  std::vector<int> descriptors;
};

// Information for an importer, stored after the memory in its file.
struct Footer {
  std::uint64_t magic;
  std::uint64_t bytes;
  std::uint64_t job;
  std::int32_t device;  // its number on the machine
  job::Export exported;
};
constexpr std::uint64_t kMagic = 0x4655434d4d56;
constexpr std::size_t kFooterBytes = 4096;

std::map<Address, Physical>& physicals() {
  static auto* all = new std::map<Address, Physical>;
  return *all;
}
// Memory that the program has released, but whose descriptors are still open here.
std::vector<Physical>& lingering() {
  static auto* all = new std::vector<Physical>;
  return *all;
}
Address next_handle = 0x1000;

Allocation* reservation(Address address, std::size_t bytes) {
  Allocation* found = find_allocation(address);
  if (found == nullptr || found->kind != Kind::kVmm) return nullptr;
  return bytes <= found->address + found->bytes - address ? found : nullptr;
}

bool is_open(const Physical& physical, int descriptor) {
  struct stat memory = {}, other = {};
  return ::fstat(physical.file, &memory) == 0 && ::fstat(descriptor, &other) == 0 && memory.st_ino == other.st_ino &&
         memory.st_dev == other.st_dev;
}
bool any_open(const Physical& physical) {
  return std::any_of(physical.descriptors.begin(), physical.descriptors.end(),
                     [&](int descriptor) { return is_open(physical, descriptor); });
}

// Drops this process's last use of the memory; processes that imported it may keep using it.
void end(const Physical& physical) {
  const auto same = [&](const auto& entry) { return entry.second.exported.serial == physical.exported.serial; };
  if (!physical.imported) {
    release_bytes(physical.device, physical.bytes);
    if (physical.exported.place >= 0) (void)job::retire(physical.exported);
  } else if (std::none_of(physicals().begin(), physicals().end(), same)) {
    job::close(physical.exported);
  }
  ::close(physical.file);
}

// Returns the number in this process of a device of the machine; -1 if it is not visible here.
int number_here(int machine_device) {
  const std::vector<int>& all = state().physical;
  const auto found = std::find(all.begin(), all.end(), machine_device);
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

int number_on_machine(int device) { return state().physical[static_cast<std::size_t>(device)]; }

// True if a device that this process sees is, or can access, a device of the machine.
bool within_reach(int machine_device) {
  const std::vector<int>& all = state().physical;
  return std::any_of(all.begin(), all.end(),
                     [&](int each) { return each == machine_device || peers(each, machine_device); });
}

}  // namespace

void drop_physical_handle(Address handle) {
  const auto found = physicals().find(handle);
  if (found == physicals().end() || --found->second.users > 0) return;
  Physical gone = std::move(found->second);
  physicals().erase(found);
  if (any_open(gone)) {
    lingering().push_back(std::move(gone));
  } else {
    end(gone);
  }
}

void settle_chunks() {
  std::erase_if(lingering(), [](const Physical& physical) {
    if (any_open(physical)) return false;
    end(physical);
    return true;
  });
}

int handle_types_of(Address handle) {
  const auto found = physicals().find(handle);
  return found == physicals().end() ? 0 : found->second.handle_types;
}

bool only_mapped(Address handle) {
  const auto found = physicals().find(handle);
  if (found == physicals().end()) return false;
  int mappings = 0;
  for (const auto& [address, range] : state().allocations) {
    for (const auto& [start, mapping] : range.mappings) mappings += mapping.handle == handle ? 1 : 0;
  }
  return mappings == found->second.users;
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
  settle_chunks();
  if (!reserve_bytes(device, bytes)) return kOutOfMemory;
  const int file = ::memfd_create("fake_cuda_vmm", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes + kFooterBytes)) != 0) {
    if (file >= 0) ::close(file);
    release_bytes(device, bytes);
    return kOperatingSystem;
  }
  *handle = next_handle++;
  physicals()[*handle] = {file, bytes, device, properties->handle_types, 1, false, {}, {}};
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
  range->mappings[address] = {bytes, physical->second.device, handle, state().next_id++, {}};
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
  for (const auto& [start, mapping] : range->mappings) {
    if (start < address || start >= address + bytes) continue;
    covered += mapping.bytes;
    for (std::size_t i = 0; i < count; ++i) {
      if (access[i].location.type != 1 || !valid_device(access[i].location.id)) return kInvalidDevice;
      if (mapping.device >= 0 && access[i].location.id != mapping.device &&
          !peers(number_on_machine(access[i].location.id), number_on_machine(mapping.device)))
        return kInvalidDevice;
    }
  }
  if (covered != bytes) return kInvalidValue;
  for (auto& [start, mapping] : range->mappings) {
    if (start < address || start >= address + bytes) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if (access[i].flags == 3) {
        mapping.readers.insert(access[i].location.id);
      } else {
        mapping.readers.erase(access[i].location.id);
      }
    }
  }
  return kSuccess;
}

// --- passing memory to another process as a file descriptor ---

FAKE_API Result cuMemExportToShareableHandle(void* shareable, Address handle, int type, unsigned long long) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  const auto physical = physicals().find(handle);
  if (physical == physicals().end() || type != 1 || (physical->second.handle_types & 1) == 0) return kInvalidValue;
  Physical& memory = physical->second;
  if (memory.exported.place < 0) {
    const int device = number_on_machine(memory.device);
    memory.exported = job::publish(device, memory.bytes);
    if (memory.exported.place < 0) return kOutOfMemory;
    const Footer footer{kMagic, memory.bytes, job::identity(), device, memory.exported};
    if (::pwrite(memory.file, &footer, sizeof footer, static_cast<off_t>(memory.bytes)) != sizeof footer) {
      return kOperatingSystem;
    }
  }
  const int copy = ::dup(memory.file);
  if (copy < 0) return kOperatingSystem;
  std::erase_if(memory.descriptors, [&](int descriptor) { return !is_open(memory, descriptor); });
  memory.descriptors.push_back(copy);
  *static_cast<int*>(shareable) = copy;
  return kSuccess;
}

FAKE_API Result cuMemImportFromShareableHandle(Address* handle, void* shareable, int type) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (type != 1) return kInvalidValue;
  const int file = ::fcntl(static_cast<int>(reinterpret_cast<std::intptr_t>(shareable)), F_DUPFD_CLOEXEC, 0);
  const off_t end = file < 0 ? -1 : ::lseek(file, 0, SEEK_END) - static_cast<off_t>(kFooterBytes);
  Footer footer{};
  if (end <= 0 || ::pread(file, &footer, sizeof footer, end) != sizeof footer || footer.magic != kMagic ||
      footer.bytes != static_cast<std::uint64_t>(end) || footer.job != job::identity() ||
      !within_reach(footer.device)) {
    if (file >= 0) ::close(file);
    return kInvalidValue;
  }
  std::lock_guard lock(state().mutex);
  (void)job::open(footer.exported);  // false if the creator has released the memory meanwhile
  *handle = next_handle++;
  physicals()[*handle] = {file, footer.bytes, number_here(footer.device), 1, 1, true, footer.exported, {}};
  return kSuccess;
}

// Returns the properties that depend on the memory.
FAKE_API Result cuMemGetAllocationPropertiesFromHandle(Properties* properties, Address handle) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  const auto physical = physicals().find(handle);
  if (physical == physicals().end()) return kInvalidValue;
  *properties = {1, physical->second.handle_types, {1, physical->second.device}, nullptr, {}};
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
