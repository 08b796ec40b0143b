// Allocation, export, and queries about an address.
#include <cstdlib>
#include <cstring>
#include <set>

#include "../fake_cuda/non_coherent.hpp"
#include "driver_calls.hpp"
#include "runtime.hpp"

namespace fake_hip {
namespace {

using fake_cuda::Allocation;
using fake_cuda::Kind;

std::set<Address>& signals() {
  static auto* all = new std::set<Address>;
  return *all;
}

// Calls `work` once the thread has a device.
template <class Work>
Result on_device(const Work& work, const char* call = __builtin_FUNCTION()) {
  const Result result = enter();
  return done(result == kSuccess ? work() : result, call);
}

struct Found {
  bool known = false;
  Allocation allocation;
};
Found find(Address address) {
  std::lock_guard lock(fake_cuda::state().mutex);
  const Allocation* const found = fake_cuda::find_allocation(address);
  return found == nullptr ? Found{} : Found{true, *found};
}

bool is_host(const Allocation& allocation) {
  return allocation.kind == Kind::kHost || allocation.kind == Kind::kRegistered;
}

constexpr unsigned kPortable = 1, kMapped = 2, kReadOnly = 8, kNumaUser = 0x20000000, kCoherent = 0x40000000,
                   kNonCoherent = 0x80000000;
constexpr unsigned kSignalMemory = 2, kUncached = 3;  // flags of hipExtMallocWithFlags; 1: fine-grained

// Returns the initial value of signal memory.
std::uint64_t first_of_signals() {
  const char* const first = std::getenv("FAKE_HIP_SIGNAL_VALUE");
  return first == nullptr ? 1 : std::strtoull(first, nullptr, 10);
}

// In ROCm 7, exported memory stays in use until the process ends, although it is freed.
bool exports_pin() {
  static const bool pin = [] {
    const char* const legacy = std::getenv("HSA_ENABLE_IPC_MODE_LEGACY");
    return rocm() >= 7 && (legacy == nullptr || std::strcmp(legacy, "1") != 0);
  }();
  return pin;
}

}  // namespace

bool is_signal(Address address) {
  std::lock_guard lock(fake_cuda::state().mutex);
  return signals().count(address) != 0;
}

}  // namespace fake_hip

using namespace fake_hip;

FAKE_HIP hipMalloc(Address* address, std::size_t bytes) {
  *address = 0;
  if (bytes == 0) return done(kSuccess);
  return on_device([&] { return cuMemAlloc_v2(address, bytes); });
}
FAKE_HIP hipFree(Address address) {
  if (is_signal(address)) {
    std::lock_guard lock(fake_cuda::state().mutex);
    signals().erase(address);
    return done(kSuccess);  // the page stays, so that a late use is detected
  }
  return on_device([&] { return cuMemFree_v2(address); });
}
FAKE_HIP hipMallocManaged(Address* address, std::size_t bytes, unsigned flags) {
  return on_device([&] { return cuMemAllocManaged(address, bytes, flags); });
}
FAKE_HIP hipMallocAsync(Address* address, std::size_t bytes, void* stream) {
  return on_device([&] { return cuMemAllocAsync(address, bytes, stream); });
}
FAKE_HIP hipFreeAsync(Address address, void* stream) {
  return on_device([&] { return cuMemFreeAsync(address, stream); });
}
FAKE_HIP hipExtMallocWithFlags(Address* address, std::size_t bytes, unsigned flags) {
  if (flags > kUncached) return done(kInvalidValue);
  if (flags != kSignalMemory) {
    const Result result = hipMalloc(address, bytes);
    std::lock_guard lock(fake_cuda::state().mutex);
    Allocation* const made = result == kSuccess ? fake_cuda::find_allocation(*address) : nullptr;
    if (made != nullptr) made->fine_grained = flags != 0;
    return result;
  }
  if (bytes != sizeof(std::uint64_t) || std::getenv("FAKE_HIP_NO_SIGNALS") != nullptr) return done(kInvalidValue);
  return on_device([&] {
    void* word = nullptr;
    const Result result = cuMemHostAlloc(&word, bytes, 0);
    if (result != kSuccess) return result;
    const std::uint64_t first = first_of_signals();
    std::memcpy(word, &first, sizeof first);
    *address = reinterpret_cast<std::uintptr_t>(word);
    std::lock_guard lock(fake_cuda::state().mutex);
    signals().insert(*address);
    return result;
  });
}

FAKE_HIP hipHostMalloc(void** memory, std::size_t bytes, unsigned flags) {
  if ((flags & ~(kPortable | kMapped | kNumaUser | kCoherent | kNonCoherent)) != 0 ||
      (flags & (kCoherent | kNonCoherent)) == (kCoherent | kNonCoherent)) {
    return done(kInvalidValue);
  }
  return on_device([&] {
    const Result result = cuMemHostAlloc(memory, bytes, 0);
    // The documents promise coherence only without flags and with the flag for it.
    if (result == kSuccess && flags != 0 && (flags & kCoherent) == 0)
      fake_cuda::non_coherent::add(reinterpret_cast<std::uintptr_t>(*memory), bytes);
    return result;
  });
}
FAKE_HIP hipHostFree(void* memory) {
  return on_device([&] { return memory == nullptr ? kSuccess : cuMemFreeHost(memory); });
}
FAKE_HIP hipHostRegister(void* memory, std::size_t bytes, unsigned flags) {
  if ((flags & ~(kPortable | kMapped | kReadOnly)) != 0) return done(kInvalidValue);
  return on_device([&] { return cuMemHostRegister_v2(memory, bytes, flags); });
}
FAKE_HIP hipHostUnregister(void* memory) {
  return on_device([&] { return cuMemHostUnregister(memory); });
}
FAKE_HIP hipHostGetDevicePointer(Address* address, void* memory, unsigned flags) {
  if (flags != 0) return done(kInvalidValue);
  return on_device([&] { return cuMemHostGetDevicePointer_v2(address, memory, 0); });
}

// --- Export: a handle is for the whole allocation, even if it was created from an address inside it ---

FAKE_HIP hipIpcGetMemHandle(IpcHandle* handle, Address address) {
  return on_device([&] {
    const Result result = cuIpcGetMemHandle(handle, address);
    if (result != kSuccess || !exports_pin()) return result;
    std::lock_guard lock(fake_cuda::state().mutex);
    fake_cuda::find_allocation(address)->pinned_by_export = true;
    return result;
  });
}
FAKE_HIP hipIpcOpenMemHandle(Address* address, IpcHandle handle, unsigned flags) {
  constexpr unsigned kLazyPeerAccess = 1;  // the driver's
  // hipIpcMemLazyEnablePeerAccess, whose value depends on the version
  if (flags != (rocm() < 6 ? 0U : 1U)) return done(kInvalidValue);
  return on_device([&] { return cuIpcOpenMemHandle_v2(address, handle, kLazyPeerAccess); });
}
// Waits for all work on the device.
FAKE_HIP hipIpcCloseMemHandle(Address address) {
  return on_device([&] {
    (void)fake_cuda::synchronize_context(fake_cuda::current_context());
    return cuIpcCloseMemHandle(address);
  });
}

// --- queries ---

namespace {

struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
  int is_managed;
  unsigned flags;
};

int type_of(const Allocation& allocation) {
  if (rocm() < 6) return is_host(allocation) || allocation.kind == Kind::kManaged ? 0 : 1;
  return is_host(allocation) ? 1 : allocation.kind == Kind::kManaged ? 3 : 2;
}

// Returns the device that holds a chunk; -1 where a reserved range has no chunk.
int device_of(const Allocation& allocation, Address address) {
  if (allocation.kind != Kind::kVmm) return allocation.device;
  const auto after = allocation.mappings.upper_bound(address);
  if (after == allocation.mappings.begin()) return -1;
  const auto& [start, mapping] = *std::prev(after);
  return address < start + mapping.bytes ? mapping.device : -1;
}

}  // namespace

FAKE_HIP hipPointerGetAttributes(PointerAttributes* attributes, Address address) {
  if (const Result result = enter(); result != kSuccess) return done(result);
  const Found found = find(address);
  std::memset(attributes, 0, sizeof *attributes);
  attributes->device = found.known ? device_of(found.allocation, address) : -1;
  if (!found.known || attributes->device < 0) {
    attributes->device = -2;
    return done(rocm() < 6 ? kInvalidValue : kSuccess);
  }
  auto* const pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  attributes->type = type_of(found.allocation);
  attributes->device_pointer = pointer;
  if (is_host(found.allocation)) attributes->host_pointer = pointer;
  attributes->is_managed = found.allocation.kind == Kind::kManaged ? 1 : 0;
  return done(kSuccess);
}

// hipPointer_attribute
FAKE_HIP hipPointerGetAttribute(void* value, int attribute, Address address) {
  if (const Result result = enter(); result != kSuccess) return done(result);
  const Found found = find(address);
  if (!found.known) return done(kInvalidValue);
  switch (attribute) {
    case 7: {  // BUFFER_ID, of 32 bits
      int which = 7;
      unsigned long long id = 0;
      void* values = &id;
      (void)cuPointerGetAttributes(1, &which, &values, address);
      const auto narrow = static_cast<std::uint32_t>(id);
      std::memcpy(value, &narrow, sizeof narrow);
      return done(kSuccess);
    }
    case 10: {  // IS_LEGACY_HIP_IPC_CAPABLE: pools count as capable
      if (rocm_version() < 702) return done(fake_cuda::kNotSupported);
      const int capable = found.allocation.kind == Kind::kDevice || found.allocation.kind == Kind::kPool ? 1 : 0;
      std::memcpy(value, &capable, sizeof capable);
      return done(kSuccess);
    }
    case 11:  // RANGE_START_ADDR
      std::memcpy(value, &found.allocation.address, sizeof found.allocation.address);
      return done(kSuccess);
    case 12: {  // RANGE_SIZE, of 32 bits
      const auto narrow = static_cast<std::uint32_t>(found.allocation.bytes);
      std::memcpy(value, &narrow, sizeof narrow);
      return done(kSuccess);
    }
    default:
      return done(fake_cuda::kNotSupported);
  }
}

// The base address of registered memory is reported as 0.
FAKE_HIP hipMemGetAddressRange(Address* base, std::size_t* bytes, Address address) {
  if (const Result result = enter(); result != kSuccess) return done(result);
  const Result result = cuMemGetAddressRange_v2(base, bytes, address);
  if (result == kSuccess && find(address).allocation.kind == Kind::kRegistered) *base = 0;
  return done(result == kSuccess ? kSuccess : rocm() < 6 ? kInvalidValue : fake_cuda::kNotFound);
}

// --- chunked memory: the driver's structs have HIP's layout. ROCm 5 cannot export it ---

namespace {

template <class Work>
Result from_rocm_6(const Work& work, const char* call = __builtin_FUNCTION()) {
  return rocm() < 6 ? done(fake_cuda::kNotSupported, call) : on_device(work, call);
}

struct Place {
  int type;
  int device;
};

const fake_cuda::Mapping* mapping_at(const Allocation& range, Address address) {
  const auto after = range.mappings.upper_bound(address);
  if (after == range.mappings.begin()) return nullptr;
  const auto& [start, mapping] = *std::prev(after);
  return address < start + mapping.bytes ? &mapping : nullptr;
}

}  // namespace

FAKE_HIP hipMemGetAllocationGranularity(std::size_t* bytes, const void* properties, int option) {
  return on_device([&] { return cuMemGetAllocationGranularity(bytes, properties, option); });
}
FAKE_HIP hipMemCreate(Address* handle, std::size_t bytes, const void* properties, unsigned long long flags) {
  return on_device([&] { return cuMemCreate(handle, bytes, properties, flags); });
}
FAKE_HIP hipMemAddressReserve(Address* address, std::size_t bytes, std::size_t alignment, Address wanted,
                              unsigned long long flags) {
  return on_device([&] { return cuMemAddressReserve(address, bytes, alignment, wanted, flags); });
}
FAKE_HIP hipMemAddressFree(Address address, std::size_t bytes) {
  return on_device([&] { return cuMemAddressFree(address, bytes); });
}
FAKE_HIP hipMemMap(Address address, std::size_t bytes, std::size_t offset, Address handle, unsigned long long flags) {
  return on_device([&] { return cuMemMap(address, bytes, offset, handle, flags); });
}
FAKE_HIP hipMemUnmap(Address address, std::size_t bytes) {
  return on_device([&] { return cuMemUnmap(address, bytes); });
}
FAKE_HIP hipMemSetAccess(Address address, std::size_t bytes, const void* access, std::size_t count) {
  return on_device([&] { return cuMemSetAccess(address, bytes, access, count); });
}
// In ROCm 5, other memory is no error, and the flags are left alone.
FAKE_HIP hipMemGetAccess(unsigned long long* flags, const Place* place, Address address) {
  return on_device([&] {
    constexpr unsigned long long kReadAndWrite = 3;
    const Found found = find(address);
    const fake_cuda::Mapping* const mapping = found.known ? mapping_at(found.allocation, address) : nullptr;
    if (mapping == nullptr || place->type != 1) return rocm() < 6 ? kSuccess : kInvalidValue;
    *flags = mapping->readers.count(place->device) != 0 ? kReadAndWrite : 0;
    return kSuccess;
  });
}

// The reference is counted from ROCm 7.12 on.
FAKE_HIP hipMemRetainAllocationHandle(Address* handle, void* pointer) {
  constexpr int kCounts = 712;
  if (rocm() < 6) return done(kSuccess);
  return on_device([&] {
    const Found found = find(reinterpret_cast<std::uintptr_t>(pointer));
    if (rocm_version() < kCounts && found.known && found.allocation.kind != Kind::kVmm)
      crash("hipMemRetainAllocationHandle", "the memory is not in chunks, at which ROCm before 7.12 crashes");
    const Result result = cuMemRetainAllocationHandle(handle, pointer);
    if (result == kSuccess && rocm_version() < kCounts) (void)cuMemRelease(*handle);
    return result;
  });
}
FAKE_HIP hipMemRelease(Address handle) {
  return on_device([&] {
    {
      std::lock_guard lock(fake_cuda::state().mutex);
      if (fake_cuda::only_mapped(handle))
        crash("hipMemRelease", "only mappings hold the memory: this would free it while it is mapped");
    }
    return cuMemRelease(handle);
  });
}
FAKE_HIP hipMemGetAllocationPropertiesFromHandle(void* properties, Address handle) {
  return from_rocm_6([&] { return cuMemGetAllocationPropertiesFromHandle(properties, handle); });
}
FAKE_HIP hipMemExportToShareableHandle(void* descriptor, Address handle, int type, unsigned long long flags) {
  return from_rocm_6([&] { return cuMemExportToShareableHandle(descriptor, handle, type, flags); });
}
// Until ROCm 7.0, `descriptor` points to the descriptor; since, it is the descriptor itself.
FAKE_HIP hipMemImportFromShareableHandle(Address* handle, void* descriptor, int type) {
  return from_rocm_6([&] {
    constexpr std::uintptr_t kUnmapped = 4096;
    const auto value = reinterpret_cast<std::uintptr_t>(descriptor);
    int number = static_cast<int>(value);
    if (rocm_version() < 701) {
      if (value < kUnmapped)
        crash("hipMemImportFromShareableHandle", "ROCm before 7.1 expects the address of the descriptor");
      std::memcpy(&number, descriptor, sizeof number);
    }
    return cuMemImportFromShareableHandle(handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(number)), type);
  });
}
