// Contexts of the fake driver.
#include <pthread.h>

#include <cstdlib>
#include <vector>

#include "state.hpp"
#include "stream.hpp"

namespace fake_cuda {
namespace {

// Contexts of the calling thread. As with the real driver, the first thread's stack still exists when exit handlers
// run; a thread_local would already be destroyed.
std::vector<Context*>& stack() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    if (::pthread_key_create(&made, [](void* mine) { delete static_cast<std::vector<Context*>*>(mine); }) != 0)
      std::abort();
    return made;
  }();
  auto* mine = static_cast<std::vector<Context*>*>(::pthread_getspecific(key));
  if (mine == nullptr) {
    mine = new std::vector<Context*>;
    (void)::pthread_setspecific(key, mine);
  }
  return *mine;
}

// Returns null if the device's compute mode leaves no room for this process.
Context* make_context(int device, bool primary) {
  {
    std::lock_guard lock(state().mutex);
    const int mode = state().compute_mode;
    if (mode == 2 || !job::enter(state().physical[static_cast<std::size_t>(device)], mode == 3)) return nullptr;
  }
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

// Ends a context with everything in it. Its handles remain recognisable.
void end_context(Context* context) {
  stop_streams(context);
  std::lock_guard lock(state().mutex);
  context->alive = false;
  state().contexts.erase(context);
  if (context->primary) state().primaries.erase(context->device);
  std::vector<Address> gone;
  for (const auto& [address, allocation] : state().allocations) {
    if (allocation.context == context && (allocation.kind == Kind::kDevice || allocation.kind == Kind::kImported)) {
      gone.push_back(address);
    }
  }
  for (const Address address : gone) (void)release_guarded(address);
  job::leave(state().physical[static_cast<std::size_t>(context->device)]);
}

}  // namespace

Context* current_context() { return stack().empty() ? nullptr : stack().back(); }

bool live(Context* context) {
  std::lock_guard lock(state().mutex);
  return state().contexts.count(context) != 0;
}

Result require_context(Context** context, const char* call) {
  if (const Result result = require_init(call); result != kSuccess) return result;
  *context = current_context();
  if (*context == nullptr) return kInvalidContext;
  if (!live(*context)) return kContextIsDestroyed;
  return (*context)->sticky;
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API Result cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (!valid_device(device)) return kInvalidDevice;
  std::lock_guard lock(state().mutex);
  *flags = 0;
  *active = state().primaries.count(device) != 0 ? 1 : 0;
  return kSuccess;
}
FAKE_API Result cuDevicePrimaryCtxRetain(Context** context, int device) {
  if (const Result result = require_init(); result != kSuccess) return result;
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
  if (made == nullptr) return kDeviceUnavailable;
  std::lock_guard lock(state().mutex);
  made->references = 1;
  state().primaries[device] = made;
  *context = made;
  return kSuccess;
}
FAKE_API Result cuDevicePrimaryCtxRelease_v2(int device) {
  if (const Result result = require_init(); result != kSuccess) return result;
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
  if (const Result result = require_init(); result != kSuccess) return result;
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
  if (const Result result = require_init(); result != kSuccess) return result;
  if (!valid_device(device)) return kInvalidDevice;
  Context* made = make_context(device, false);
  if (made == nullptr) return kDeviceUnavailable;
  *context = made;
  stack().push_back(made);
  return kSuccess;
}
FAKE_API Result cuCtxDestroy_v2(Context* context) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (!live(context)) return kInvalidContext;
  if (current_context() == context) stack().pop_back();
  end_context(context);
  return kSuccess;
}
FAKE_API Result cuCtxPushCurrent_v2(Context* context) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (!live(context)) return kInvalidContext;
  stack().push_back(context);
  return kSuccess;
}
FAKE_API Result cuCtxPopCurrent_v2(Context** context) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (stack().empty()) return kInvalidContext;
  if (context != nullptr) *context = stack().back();
  stack().pop_back();
  return kSuccess;
}
FAKE_API Result cuCtxSetCurrent(Context* context) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (context != nullptr && !live(context)) return kInvalidContext;
  if (!stack().empty()) stack().pop_back();
  if (context != nullptr) stack().push_back(context);
  return kSuccess;
}
FAKE_API Result cuCtxGetCurrent(Context** context) {
  if (const Result result = require_init(); result != kSuccess) return result;
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
  if (const Result result = require_init(); result != kSuccess) return result;
  if (!live(context)) return kContextIsDestroyed;
  *id = context->id;
  return kSuccess;
}
FAKE_API Result cuCtxSynchronize() {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  if (const Result result = context_is_not_captured(context); result != kSuccess) return result;
  return synchronize_context(context);
}
FAKE_API Result cuCtxEnablePeerAccess(Context* peer, unsigned flags) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  if (flags != 0) return kInvalidValue;
  if (!live(peer) || peer == context) return kInvalidContext;
  const std::vector<int>& physical = state().physical;
  if (peer->device != context->device &&
      !peers(physical[static_cast<std::size_t>(peer->device)], physical[static_cast<std::size_t>(context->device)]))
    return kPeerAccessUnsupported;
  std::lock_guard lock(state().mutex);
  return context->peers.insert(peer).second ? kSuccess : kPeerAccessAlreadyEnabled;
}
FAKE_API Result cuCtxDisablePeerAccess(Context* peer) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  std::lock_guard lock(state().mutex);
  return context->peers.erase(peer) != 0 ? kSuccess : kPeerAccessNotEnabled;
}
