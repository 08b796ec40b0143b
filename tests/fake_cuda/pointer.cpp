// Pointer queries of the fake driver.
#include "state.hpp"

using namespace fake_cuda;

namespace {

const Mapping* mapping_at(const Allocation& range, Address address, Address* start) {
  auto after = range.mappings.upper_bound(address);
  if (after == range.mappings.begin()) return nullptr;
  --after;
  *start = after->first;
  return address < after->first + after->second.bytes ? &after->second : nullptr;
}

// Returns the value of one attribute; for an unknown address, the zero that cuPointerGetAttributes returns.
Result attribute(int which, void* value, Address address) {
  const Allocation* found = find_allocation(address);
  Address mapping_start = 0;
  const Mapping* mapping = nullptr;
  if (found != nullptr && found->kind == Kind::kVmm) {
    mapping = mapping_at(*found, address, &mapping_start);
  }
  const bool known = found != nullptr;
  const Mapping* range = state().whole_reservations ? nullptr : mapping;
  switch (which) {
    case 1:  // CONTEXT
      *static_cast<Context**>(value) = known ? found->context : nullptr;
      return kSuccess;
    case 2:  // MEMORY_TYPE
      *static_cast<unsigned*>(value) = !known ? 0 : found->guarded() || found->kind == Kind::kManaged ? 2 : 1;
      return kSuccess;
    case 3:  // DEVICE_POINTER
      *static_cast<Address*>(value) = known ? address : 0;
      return kSuccess;
    case 4:  // HOST_POINTER
      *static_cast<void**>(value) = known && !found->guarded() ? reinterpret_cast<void*>(address) : nullptr;
      return kSuccess;
    case 7:  // BUFFER_ID
      *static_cast<unsigned long long*>(value) = mapping != nullptr ? mapping->id : known ? found->id : 0;
      return kSuccess;
    case 8:  // IS_MANAGED
      *static_cast<unsigned*>(value) = known && found->kind == Kind::kManaged ? 1 : 0;
      return kSuccess;
    case 9:  // DEVICE_ORDINAL
      *static_cast<int*>(value) = !known ? -2 : mapping != nullptr ? mapping->device : found->device;
      return kSuccess;
    case 10:  // IS_LEGACY_CUDA_IPC_CAPABLE
      *static_cast<unsigned*>(value) = known && found->kind == Kind::kDevice ? 1 : 0;
      return kSuccess;
    case 11:  // RANGE_START_ADDR
      *static_cast<Address*>(value) = range != nullptr ? mapping_start : known ? found->address : 0;
      return kSuccess;
    case 12:  // RANGE_SIZE
      *static_cast<std::size_t*>(value) = range != nullptr ? range->bytes : known ? found->bytes : 0;
      return kSuccess;
    case 13:  // MAPPED
      *static_cast<unsigned*>(value) = known && (found->kind != Kind::kVmm || mapping != nullptr) ? 1 : 0;
      return kSuccess;
    case 14:  // ALLOWED_HANDLE_TYPES
      *static_cast<unsigned long long*>(value) =
          mapping != nullptr ? static_cast<unsigned long long>(handle_types_of(mapping->handle)) : 0;
      return kSuccess;
    case 18:  // MAPPING_SIZE
      *static_cast<std::size_t*>(value) = mapping != nullptr ? mapping->bytes : known ? found->bytes : 0;
      return kSuccess;
    case 19:  // MAPPING_BASE_ADDR
      *static_cast<Address*>(value) = mapping != nullptr ? mapping_start : known ? found->address : 0;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}

}  // namespace

FAKE_API Result cuPointerGetAttributes(unsigned count, int* which, void** values, Address address) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  for (unsigned i = 0; i < count; ++i) {
    if (const Result result = attribute(which[i], values[i], address); result != kSuccess) return result;
  }
  return kSuccess;
}

FAKE_API Result cuPointerGetAttribute(void* value, int which, Address address) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  if (find_allocation(address) == nullptr) return kInvalidValue;
  return attribute(which, value, address);
}

FAKE_API Result cuPointerSetAttribute(const void*, int, Address address) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  return find_allocation(address) == nullptr ? kInvalidValue : kSuccess;
}
