// HIP's pointer queries have pitfalls, and differ between versions:
// - A query about host memory that HIP does not know fails before ROCm 6; later versions report it as "unregistered".
// - ROCm 5 counts memory types from 0 (host, device). Later versions count from 1, and have a type for managed memory.
// - Buffer ids have 32 bits. The attribute for the size of a range also has 32 bits, so it is not used.
#include "mem/hip/pointer.hpp"

#include <algorithm>

#include "base/log.hpp"
#include "mem/hip/chunks.hpp"
#include "mem/hip/contexts.hpp"
#include "mem/hip/runtime.hpp"

namespace hr::mem::hip {
namespace {

// hipPointer_attribute
constexpr int kBufferId = 7, kRangeStart = 11;

enum class Memory : unsigned char { kUnknown, kHost, kDevice, kManaged };

Memory kind_of(const PointerAttributes& found) noexcept {
  constexpr int kUnregistered = 0, kHost = 1;
  if (found.is_managed != 0) return Memory::kManaged;
  const int type = runtime().major < 6 ? found.type + 1 : found.type;
  return type == kUnregistered ? Memory::kUnknown : type == kHost ? Memory::kHost : Memory::kDevice;
}

bool unknown(Result result) noexcept {
  return result == device::kInvalidValue || result == kInvalidDevicePointer || result == kNotFound;
}

// *kind: kUnknown for ordinary host memory.
Result ask(DeviceAddress address, PointerAttributes* found, Memory* kind) noexcept {
  *kind = Memory::kUnknown;
  const QuietCalls quietly;
  const Result result = quietly(runtime().hipPointerGetAttributes(found, address));
  if (unknown(result)) return device::kSuccess;
  if (result == device::kSuccess) *kind = kind_of(*found);
  return result;
}

// Returns 0 if the runtime does not report it.
std::uint64_t buffer_id(DeviceAddress address) noexcept {
  const QuietCalls quietly;
  std::uint32_t id = 0;
  return quietly(runtime().hipPointerGetAttribute(&id, kBufferId, address)) == device::kSuccess ? id : 0;
}

struct Range {
  DeviceAddress start = 0;
  std::size_t bytes = 0;
};

// Returns the allocation that contains the address; empty if the runtime does not report it.
Range range_of(DeviceAddress address) noexcept {
  const QuietCalls quietly;
  Range range;
  if (quietly(runtime().hipMemGetAddressRange(&range.start, &range.bytes, address)) != device::kSuccess) return {};
  // The runtime may report the device's address of registered memory, or none.
  if (address - range.start >= range.bytes &&
      quietly(runtime().hipPointerGetAttribute(&range.start, kRangeStart, address)) != device::kSuccess)
    return {};
  return address - range.start < range.bytes ? range : Range{};
}

int device_attribute(int attribute, int device) noexcept {
  int value = -1;
  const QuietCalls quietly;
  return quietly(runtime().hipDeviceGetAttribute(&value, attribute, std::max(device, 0))) == device::kSuccess ? value
                                                                                                              : -1;
}

// Says once per process that managed memory does not migrate. Only devices with XNACK access pageable memory; an
// integrated device shares the host's memory.
void note_managed(int device) noexcept {
  constexpr int kIntegrated = 16, kPageableMemoryAccess = 65;  // hipDeviceAttribute_t
  [[maybe_unused]] static const bool noted = [device] {
    if (device_attribute(kPageableMemoryAccess, device) != 0 || device_attribute(kIntegrated, device) == 1)
      return false;
    log::write(log::Level::kNote,
               "managed memory does not migrate to HIP device %d, as XNACK is off: it stays on the host, where the CPU "
               "copies it; set HSA_XNACK=1 if the device supports it",
               std::max(device, 0));
    return true;
  }();
}

}  // namespace

Result pointer_get_attributes(unsigned count, int* which, void** values, DeviceAddress address) {
  PointerAttributes found;
  Memory kind = Memory::kUnknown;
  if (const Result result = ask(address, &found, &kind); result != device::kSuccess) return result;
  if (kind == Memory::kManaged) [[unlikely]]
    note_managed(found.device);
  const unsigned type = kind == Memory::kUnknown ? 0 : kind == Memory::kHost ? device::kMemoryTypeHost : 2;
  Range range;
  if (count > 1 && type != 0) range = range_of(address);
  const bool chunk = count > 1 && kind == Memory::kDevice && is_chunk(address, range.start, found.device);
  for (unsigned i = 0; i < count; ++i) {
    switch (which[i]) {
      case device::kAttributeMemoryType:
        *static_cast<unsigned*>(values[i]) = type;
        break;
      case device::kAttributeIsManaged:
        *static_cast<unsigned*>(values[i]) = kind == Memory::kManaged ? 1 : 0;
        break;
      case device::kAttributeContext:
        *static_cast<void**>(values[i]) = type == 0 || chunk ? nullptr : context_of(found.device);
        break;
      case device::kAttributeDeviceOrdinal:
        *static_cast<int*>(values[i]) = found.device;
        break;
      case device::kAttributeRangeStart:
        *static_cast<DeviceAddress*>(values[i]) = range.start;
        break;
      case device::kAttributeRangeSize:
        *static_cast<std::size_t*>(values[i]) = range.bytes;
        break;
      case device::kAttributeBufferId:
        *static_cast<unsigned long long*>(values[i]) = type == 0 ? 0 : buffer_id(address);
        break;
      case device::kAttributeHandleTypes:
        *static_cast<unsigned long long*>(values[i]) = chunk ? handle_types_of_chunk(address) : 0;
        break;
      case device::kAttributeHostPointer:
        *static_cast<void**>(values[i]) = kind == Memory::kHost ? found.host_pointer : nullptr;
        break;
      default:
        return device::kInvalidValue;
    }
  }
  return device::kSuccess;
}

Result pointer_get_attribute(void* value, int which, DeviceAddress address) {
  PointerAttributes found;
  Memory kind = Memory::kUnknown;
  if (const Result result = ask(address, &found, &kind); result != device::kSuccess) return result;
  if (kind == Memory::kUnknown) return device::kInvalidValue;
  switch (which) {
    case device::kAttributeBufferId:
      *static_cast<unsigned long long*>(value) = buffer_id(address);
      return device::kSuccess;
    case device::kAttributeMapped:
      *static_cast<int*>(value) = 1;
      return device::kSuccess;
    case device::kAttributeRangeStart:
      *static_cast<DeviceAddress*>(value) = range_of(address).start;
      return device::kSuccess;
    case device::kAttributeRangeSize:
      *static_cast<std::size_t*>(value) = range_of(address).bytes;
      return device::kSuccess;
    default:
      return device::kInvalidValue;
  }
}

}  // namespace hr::mem::hip
