// Device memory: a range of addresses that the program cannot access, and a second mapping of it, `offset` bytes
// further, through which the driver accesses it. One memory file backs both, so that another process can open it (IPC).
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "non_coherent.hpp"
#include "state.hpp"
#include "stream.hpp"

namespace fake_cuda {
namespace {

constexpr std::size_t kRange = std::size_t{1} << 38;  // address space only
constexpr std::size_t kPage = 4096;

// Offsets in one space, in pages; the last freed range of a size is reused first, so that programs see addresses
// reused. One page stays free after each range.
class Space {
 public:
  std::uint64_t take(std::size_t bytes) {
    const std::size_t rounded = round_up(bytes, kPage) + kPage;
    auto& free = free_[rounded];
    if (!free.empty()) {
      const std::uint64_t offset = free.back();
      free.pop_back();
      return offset;
    }
    if (next_ + rounded > kRange) std::abort();
    return std::exchange(next_, next_ + rounded);
  }
  void give(std::uint64_t offset, std::size_t bytes) { free_[round_up(bytes, kPage) + kPage].push_back(offset); }

 private:
  std::uint64_t next_ = kPage;
  std::map<std::size_t, std::vector<std::uint64_t>> free_;
};

struct DeviceRange {
  char* program = nullptr;  // address that programs hold; no access
  char* driver = nullptr;   // address that the driver touches
  int file = -1;
  Space addresses;
  Space physical;

  DeviceRange() {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    program = static_cast<char*>(::mmap(nullptr, kRange, PROT_NONE, kFlags, -1, 0));
    driver = static_cast<char*>(::mmap(nullptr, kRange, PROT_NONE, kFlags, -1, 0));
    file = ::memfd_create("fake_cuda", MFD_CLOEXEC);
    if (program == MAP_FAILED || driver == MAP_FAILED || file < 0 || ::ftruncate(file, kRange) != 0) std::abort();
  }
};
DeviceRange& range() {
  static DeviceRange* instance = new DeviceRange;
  return *instance;
}

// Freed allocations that another process has open: their memory must not be reused.
std::vector<Allocation>& still_open() {
  static auto* all = new std::vector<Allocation>;
  return *all;
}
void return_physical() {
  std::erase_if(still_open(), [](const Allocation& freed) {
    if (!job::abandoned(freed.exported)) return false;
    release_physical(freed.physical, freed.bytes);
    return true;
  });
}

}  // namespace

bool reserve_bytes(int device, std::size_t bytes) {
  return job::reserve(state().physical[static_cast<std::size_t>(device)], bytes, state().device_bytes);
}
void release_bytes(int device, std::size_t bytes) {
  job::release(state().physical[static_cast<std::size_t>(device)], bytes);
}

bool in_device_range(Address address) {
  const auto offset = address - reinterpret_cast<std::uintptr_t>(range().program);
  return offset < kRange;
}

void* alias(Address address) {
  if (!in_device_range(address)) return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  return range().driver + (address - reinterpret_cast<std::uintptr_t>(range().program));
}

// Exported for other stand-ins for hardware (tests/fake_ucx).
extern "C" __attribute__((visibility("default"))) void* fake_cuda_alias(Address address) { return alias(address); }

Address reserve_range(std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(range().program) + range().addresses.take(bytes);
}
void release_range(Address address, std::size_t bytes) {
  range().addresses.give(address - reinterpret_cast<std::uintptr_t>(range().program), bytes);
}
std::uint64_t reserve_physical(std::size_t bytes) { return range().physical.take(bytes); }
void release_physical(std::uint64_t offset, std::size_t bytes) {
  (void)::fallocate(range().file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(round_up(bytes, kPage)));
  range().physical.give(offset, bytes);
}
int memory_file() { return range().file; }

bool map_alias(Address address, std::size_t bytes, int file, std::uint64_t offset) {
  return ::mmap(alias(address), round_up(bytes, kPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                static_cast<off_t>(offset)) != MAP_FAILED;
}
void unmap_alias(Address address, std::size_t bytes) {
  (void)::mmap(alias(address), round_up(bytes, kPage), PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}

bool& managed_pages_stay() {
  static bool stay = false;
  return stay;
}
void pages_go_to_device(Address first, std::size_t bytes) {
  if (managed_pages_stay()) return;
  std::lock_guard lock(state().mutex);
  const Allocation* found = find_allocation(first);
  if (found == nullptr || found->kind != Kind::kManaged || bytes == 0) return;
  const Address begin = first / kPage * kPage;
  (void)::madvise(reinterpret_cast<void*>(begin), round_up(first + bytes - begin, kPage), MADV_DONTNEED);
}
void all_pages_go_to_device() {
  if (managed_pages_stay()) return;
  std::lock_guard lock(state().mutex);
  for (const auto& [address, allocation] : state().allocations) {
    if (allocation.kind != Kind::kManaged) continue;
    (void)::madvise(reinterpret_cast<void*>(address), round_up(allocation.bytes, kPage), MADV_DONTNEED);
  }
}

Allocation* find_allocation(Address address) {
  auto& allocations = state().allocations;
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin()) return nullptr;
  Allocation& candidate = std::prev(after)->second;
  return address < candidate.address + candidate.bytes ? &candidate : nullptr;
}

Result check_access(Context* context, Address address, std::size_t bytes, bool by_kernel) {
  Allocation* allocation = find_allocation(address);
  // Host memory at the start of the range may be unregistered, even if a later part is registered.
  if (allocation == nullptr) return in_device_range(address) ? kInvalidValue : kSuccess;
  if (bytes > allocation->address + allocation->bytes - address) return kInvalidValue;
  switch (allocation->kind) {
    case Kind::kDevice:
    case Kind::kImported:
      if (allocation->context == context || !by_kernel) return kSuccess;
      return context->peers.count(allocation->context) != 0 ? kSuccess : kIllegalAddress;
    case Kind::kPool:
      return allocation->device == context->device ? kSuccess : (by_kernel ? kIllegalAddress : kInvalidValue);
    case Kind::kVmm:
      for (Address at = address; at < address + bytes;) {
        auto after = allocation->mappings.upper_bound(at);
        if (after == allocation->mappings.begin()) return kInvalidValue;
        const auto& [start, mapping] = *std::prev(after);
        if (at >= start + mapping.bytes) return kInvalidValue;
        if (mapping.readers.count(context->device) == 0) return by_kernel ? kIllegalAddress : kInvalidValue;
        at = start + mapping.bytes;
      }
      return kSuccess;
    default:
      return kSuccess;
  }
}

Result allocate_guarded(Kind kind, std::size_t bytes, Context* context, int device, Address* address) {
  State& all = state();
  if (bytes == 0) return kInvalidValue;
  return_physical();
  settle_chunks();
  if (!reserve_bytes(device, bytes)) return kOutOfMemory;
  Allocation made;
  made.physical = reserve_physical(bytes);
  made.address = reserve_range(bytes);
  if (!map_alias(made.address, bytes, memory_file(), made.physical)) {
    release_bytes(device, bytes);
    return kOutOfMemory;
  }
  made.bytes = bytes;
  made.kind = kind;
  made.device = device;
  made.context = context;
  made.id = all.next_id++;
  *address = made.address;
  all.allocations.emplace(made.address, made);
  return kSuccess;
}

Result release_guarded(Address address) {
  State& all = state();
  const auto found = all.allocations.find(address);
  if (found == all.allocations.end()) return kInvalidValue;
  const Allocation& gone = found->second;
  unmap_alias(gone.address, gone.bytes);
  release_range(gone.address, gone.bytes);
  if (gone.kind == Kind::kImported) {
    close_import(gone);
  } else if (gone.pinned_by_export) {
    (void)job::retire(gone.exported, true);
  } else {
    release_bytes(gone.device, gone.bytes);
    if (gone.exported.place < 0 || job::retire(gone.exported)) {
      release_physical(gone.physical, gone.bytes);
    } else {
      still_open().push_back(gone);
    }
  }
  all.allocations.erase(found);
  return kSuccess;
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API Result cuMemAlloc_v2(Address* address, std::size_t bytes) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  return allocate_guarded(Kind::kDevice, bytes, context, context->device, address);
}

FAKE_API Result cuMemFree_v2(Address address) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  if (address == 0) return kSuccess;
  Context* owner = context;
  {
    std::lock_guard lock(state().mutex);
    const auto found = state().allocations.find(address);
    if (found == state().allocations.end() || found->second.kind > Kind::kManaged || found->second.kind == Kind::kVmm ||
        found->second.kind == Kind::kImported) {
      return kInvalidValue;
    }
    if (found->second.context != nullptr) owner = found->second.context;
  }
  synchronize_context(owner);  // the driver waits for work that may use the memory
  std::lock_guard lock(state().mutex);
  const auto found = state().allocations.find(address);
  if (found == state().allocations.end()) return kInvalidValue;
  if (found->second.kind == Kind::kManaged) {
    ::munmap(reinterpret_cast<void*>(address), round_up(found->second.bytes, kPage));
    state().allocations.erase(found);
    return kSuccess;
  }
  return release_guarded(address);
}

FAKE_API Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  settle_chunks();
  *total = state().device_bytes;
  const std::uint64_t used = job::used(state().physical[static_cast<std::size_t>(context->device)]);
  *free = state().device_bytes - std::min(used, state().device_bytes);
  return kSuccess;
}

FAKE_API Result cuMemGetAddressRange_v2(Address* base, std::size_t* bytes, Address address) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  const Allocation* found = find_allocation(address);
  if (found == nullptr) return kNotFound;
  Address start = found->address;
  std::size_t length = found->bytes;
  if (found->kind == Kind::kVmm) {  // one chunk
    const auto after = found->mappings.upper_bound(address);
    if (after == found->mappings.begin() || address >= std::prev(after)->first + std::prev(after)->second.bytes) {
      return kNotFound;
    }
    start = std::prev(after)->first;
    length = std::prev(after)->second.bytes;
  }
  if (base != nullptr) *base = start;
  if (bytes != nullptr) *bytes = length;
  return kSuccess;
}

// --- stream-ordered pools: the memory has no context ---

FAKE_API Result cuMemAllocAsync(Address* address, std::size_t bytes, void* stream) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  Stream* where = nullptr;
  if (const Result result = use_stream(context, stream, &where); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  return allocate_guarded(Kind::kPool, bytes, nullptr, context->device, address);
}

FAKE_API Result cuMemFreeAsync(Address address, void* stream) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  Stream* where = nullptr;
  if (const Result result = use_stream(context, stream, &where); result != kSuccess) return result;
  {
    std::lock_guard lock(state().mutex);
    const auto found = state().allocations.find(address);
    if (found == state().allocations.end() || found->second.kind != Kind::kPool) return kInvalidValue;
  }
  enqueue(where, [address] {
    std::lock_guard lock(state().mutex);
    return release_guarded(address);
  });
  return kSuccess;
}

// --- memory that the CPU may access ---

namespace {
Result add_host(Kind kind, Address address, std::size_t bytes, Context* context) {
  Allocation made;
  made.address = address;
  made.bytes = bytes;
  made.kind = kind;
  made.device = context->device;
  made.context = context;
  made.id = state().next_id++;
  state().allocations.insert_or_assign(address, made);  // the program may have unmapped memory registered there
  return kSuccess;
}
// True if all pages are mapped, private or shared, of any kind.
bool is_mapped(const void* pointer, std::size_t bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(pointer) / kPage * kPage;
  const auto last = reinterpret_cast<std::uintptr_t>(pointer) + bytes;
  return ::msync(reinterpret_cast<void*>(first), last - first, MS_ASYNC) == 0;
}
// Maps a file, so that its pages can be unmapped without losing their content (pages_go_to_device()).
Address map_managed(std::size_t bytes) {
  const int file = ::memfd_create("fake_cuda_managed", MFD_CLOEXEC);
  if (file < 0) return 0;
  void* memory = MAP_FAILED;
  if (::ftruncate(file, static_cast<off_t>(round_up(bytes, kPage))) == 0) {
    memory = ::mmap(nullptr, round_up(bytes, kPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  ::close(file);
  return memory == MAP_FAILED ? 0 : reinterpret_cast<std::uintptr_t>(memory);
}
Address map_host(std::size_t bytes) {
  void* memory = ::mmap(nullptr, round_up(bytes, kPage), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? 0 : reinterpret_cast<std::uintptr_t>(memory);
}
}  // namespace

FAKE_API Result cuMemAllocManaged(Address* address, std::size_t bytes, unsigned flags) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  if (bytes == 0 || (flags != 1 && flags != 2)) return kInvalidValue;
  std::lock_guard lock(state().mutex);
  *address = map_managed(bytes);
  return *address == 0 ? kOutOfMemory : add_host(Kind::kManaged, *address, bytes, context);
}

FAKE_API Result cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  if (bytes == 0) return kInvalidValue;
  std::lock_guard lock(state().mutex);
  const Address address = map_host(bytes);
  *pointer = reinterpret_cast<void*>(address);
  return address == 0 ? kOutOfMemory : add_host(Kind::kHost, address, bytes, context);
}
FAKE_API Result cuMemAllocHost_v2(void** pointer, std::size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }

FAKE_API Result cuMemFreeHost(void* pointer) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  synchronize_context(context);
  std::lock_guard lock(state().mutex);
  const auto found = state().allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == state().allocations.end() || found->second.kind != Kind::kHost) return kInvalidValue;
  non_coherent::remove(found->first);
  ::munmap(pointer, round_up(found->second.bytes, kPage));
  state().allocations.erase(found);
  return kSuccess;
}

FAKE_API Result cuMemHostRegister_v2(void* pointer, std::size_t bytes, unsigned flags) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  constexpr unsigned kPortable = 1, kDeviceMap = 2, kReadOnly = 8;
  if (pointer == nullptr || bytes == 0 || (flags & ~(kPortable | kDeviceMap | kReadOnly)) != 0) return kInvalidValue;
  if (!is_mapped(pointer, bytes)) return kInvalidValue;
  std::lock_guard lock(state().mutex);
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (find_allocation(address) != nullptr || find_allocation(address + bytes - 1) != nullptr) {
    return kHostAlreadyRegistered;
  }
  return add_host(Kind::kRegistered, address, bytes, context);
}

FAKE_API Result cuMemHostUnregister(void* pointer) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  const auto found = state().allocations.find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == state().allocations.end() || found->second.kind != Kind::kRegistered) return kHostNotRegistered;
  state().allocations.erase(found);
  return kSuccess;
}

FAKE_API Result cuMemHostGetDevicePointer_v2(Address* address, void* pointer, unsigned) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  const Allocation* found = find_allocation(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == nullptr || found->guarded()) return kInvalidValue;
  *address = reinterpret_cast<std::uintptr_t>(pointer);
  return kSuccess;
}
