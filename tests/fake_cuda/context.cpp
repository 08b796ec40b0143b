// Devices and contexts of the fake driver.
#include <cstdio>
#include <cstring>

#include "state.hpp"
#include "stream.hpp"

namespace fake_cuda {
namespace {

thread_local std::vector<Context*> stack;

Context* make_context(int device, bool primary) {
  auto* context = new Context;
  context->device = device;
  context->primary = primary;
  {
    std::lock_guard lock(state().mutex);
    context->id = state().next_id++;
    state().contexts.insert(context);
  }
  context->legacy = make_stream(context, true);
  return context;
}

// Ends a context with everything in it. Handles of it stay recognisable.
void end_context(Context* context) {
  stop_streams(context);
  std::lock_guard lock(state().mutex);
  context->alive = false;
  state().contexts.erase(context);
  if (context->primary) state().primaries.erase(context->device);
  std::vector<Address> gone;
  for (const auto& [address, allocation] : state().allocations) {
    if (allocation.context == context && allocation.kind == Kind::kDevice) gone.push_back(address);
  }
  for (const Address address : gone) (void)release_guarded(address);
}

bool valid_device(int device) { return device >= 0 && device < state().devices; }

}  // namespace

Context* current_context() { return stack.empty() ? nullptr : stack.back(); }

bool live(Context* context) {
  std::lock_guard lock(state().mutex);
  return state().contexts.count(context) != 0;
}

Result require_context(Context** context) {
  if (!initialized()) return kNotInitialized;
  *context = current_context();
  if (*context == nullptr) return kInvalidContext;
  if (!live(*context)) return kContextIsDestroyed;
  return (*context)->sticky;
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API Result cuDeviceGetCount(int* count) {
  if (!initialized()) return kNotInitialized;
  *count = state().devices;
  return kSuccess;
}
FAKE_API Result cuDeviceGet(int* device, int ordinal) {
  if (!initialized()) return kNotInitialized;
  if (!valid_device(ordinal)) return kInvalidDevice;
  *device = ordinal;
  return kSuccess;
}
FAKE_API Result cuDeviceGetName(char* name, int length, int device) {
  if (!valid_device(device)) return kInvalidDevice;
  std::snprintf(name, static_cast<std::size_t>(length), "Fake CUDA device %d", device);
  return kSuccess;
}
FAKE_API Result cuDeviceGetUuid_v2(char* uuid, int device) {
  if (!valid_device(device)) return kInvalidDevice;
  std::memset(uuid, 0, 16);
  std::memcpy(uuid, "fake_cuda", 9);
  uuid[15] = static_cast<char>(device);
  return kSuccess;
}
FAKE_API Result cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  if (!valid_device(device)) return kInvalidDevice;
  *bytes = state().device_bytes;
  return kSuccess;
}
FAKE_API Result cuDeviceGetPCIBusId(char* text, int length, int device) {
  if (!valid_device(device)) return kInvalidDevice;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", device + 1);
  return kSuccess;
}
FAKE_API Result cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (!initialized()) return kNotInitialized;
  if (!valid_device(device)) return kInvalidDevice;
  switch (attribute) {
    case 1:  // MAX_THREADS_PER_BLOCK
      *value = 1024;
      break;
    case 16:  // MULTIPROCESSOR_COUNT
      *value = 4;
      break;
    case 33:  // PCI_BUS_ID
      *value = device + 1;
      break;
    case 75:  // COMPUTE_CAPABILITY_MAJOR
      *value = 9;
      break;
    case 34:
    case 50:
    case 76:  // PCI_DEVICE_ID, PCI_DOMAIN_ID, COMPUTE_CAPABILITY_MINOR
      *value = 0;
      break;
    default:  // everything that we emulate is supported
      *value = 1;
  }
  return kSuccess;
}
FAKE_API Result cuDeviceCanAccessPeer(int* possible, int device, int peer) {
  if (!initialized()) return kNotInitialized;
  if (!valid_device(device) || !valid_device(peer)) return kInvalidDevice;
  *possible = device != peer && state().peers_allowed ? 1 : 0;
  return kSuccess;
}

FAKE_API Result cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (!initialized()) return kNotInitialized;
  if (!valid_device(device)) return kInvalidDevice;
  std::lock_guard lock(state().mutex);
  *flags = 0;
  *active = state().primaries.count(device) != 0 ? 1 : 0;
  return kSuccess;
}
FAKE_API Result cuDevicePrimaryCtxRetain(Context** context, int device) {
  if (!initialized()) return kNotInitialized;
  if (!valid_device(device)) return kInvalidDevice;
  {
    std::lock_guard lock(state().mutex);
    if (const auto found = state().primaries.find(device); found != state().primaries.end()) {
      ++found->second->references;
      *context = found->second;
      return kSuccess;
    }
  }
  Context* made = make_context(device, true);
  std::lock_guard lock(state().mutex);
  made->references = 1;
  state().primaries[device] = made;
  *context = made;
  return kSuccess;
}
FAKE_API Result cuDevicePrimaryCtxRelease_v2(int device) {
  if (!initialized()) return kNotInitialized;
  Context* context = nullptr;
  {
    std::lock_guard lock(state().mutex);
    const auto found = state().primaries.find(device);
    if (found == state().primaries.end()) return kInvalidContext;
    if (--found->second->references > 0) return kSuccess;
    context = found->second;
  }
  end_context(context);
  return kSuccess;
}
FAKE_API Result cuDevicePrimaryCtxReset_v2(int device) {
  if (!initialized()) return kNotInitialized;
  Context* context = nullptr;
  {
    std::lock_guard lock(state().mutex);
    const auto found = state().primaries.find(device);
    if (found == state().primaries.end()) return kSuccess;
    context = found->second;
  }
  end_context(context);
  return kSuccess;
}

FAKE_API Result cuCtxCreate_v2(Context** context, unsigned, int device) {
  if (!initialized()) return kNotInitialized;
  if (!valid_device(device)) return kInvalidDevice;
  *context = make_context(device, false);
  stack.push_back(*context);
  return kSuccess;
}
FAKE_API Result cuCtxDestroy_v2(Context* context) {
  if (!initialized()) return kNotInitialized;
  if (!live(context)) return kInvalidContext;
  if (current_context() == context) stack.pop_back();
  end_context(context);
  return kSuccess;
}
FAKE_API Result cuCtxPushCurrent_v2(Context* context) {
  if (!initialized()) return kNotInitialized;
  if (!live(context)) return kInvalidContext;
  stack.push_back(context);
  return kSuccess;
}
FAKE_API Result cuCtxPopCurrent_v2(Context** context) {
  if (!initialized()) return kNotInitialized;
  if (stack.empty()) return kInvalidContext;
  if (context != nullptr) *context = stack.back();
  stack.pop_back();
  return kSuccess;
}
FAKE_API Result cuCtxSetCurrent(Context* context) {
  if (!initialized()) return kNotInitialized;
  if (context != nullptr && !live(context)) return kInvalidContext;
  if (!stack.empty()) stack.pop_back();
  if (context != nullptr) stack.push_back(context);
  return kSuccess;
}
FAKE_API Result cuCtxGetCurrent(Context** context) {
  if (!initialized()) return kNotInitialized;
  *context = current_context();
  return kSuccess;
}
FAKE_API Result cuCtxGetDevice(int* device) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  *device = context->device;
  return kSuccess;
}
FAKE_API Result cuCtxGetId(Context* context, unsigned long long* id) {
  if (!initialized()) return kNotInitialized;
  if (!live(context)) return kContextIsDestroyed;
  *id = context->id;
  return kSuccess;
}
FAKE_API Result cuCtxSynchronize() {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  return synchronize_context(context);
}
FAKE_API Result cuCtxEnablePeerAccess(Context* peer, unsigned flags) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  if (flags != 0) return kInvalidValue;
  if (!live(peer) || peer == context) return kInvalidContext;
  if (!state().peers_allowed && peer->device != context->device) return 217;  // PEER_ACCESS_UNSUPPORTED
  std::lock_guard lock(state().mutex);
  return context->peers.insert(peer).second ? kSuccess : kPeerAccessAlreadyEnabled;
}
FAKE_API Result cuCtxDisablePeerAccess(Context* peer) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  return context->peers.erase(peer) != 0 ? kSuccess : kPeerAccessNotEnabled;
}
