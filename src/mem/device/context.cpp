#include "mem/device/context.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "base/buffered.hpp"
#include "base/clock.hpp"
#include "base/knobs.hpp"
#include "base/log.hpp"
#include "mem/device/costs.hpp"
#include "mem/device/deferred_free.hpp"
#include "mem/device/device_buffer.hpp"
#include "mem/device/device_links.hpp"
#include "mem/device/ipc.hpp"
#include "mem/device/resident_copier.hpp"
#include "mem/state.hpp"

namespace hr::mem::device {
namespace {

struct Contexts final : FileState {
  std::vector<std::unique_ptr<Context>> all;  // owns every Context; a handful at most, so searched linearly
  bool kernels_noted = false;                 // true once the absence of kernels has been logged
};

// Gets the context's id, which differs from that of a destroyed context at the same address; 0 if the driver has no
// ids. False if the context does not exist.
bool current_id(ContextHandle handle, std::uint64_t* id) {
  unsigned long long value = 0;
  if (driver().context_id != nullptr && driver().context_id(handle, &value) != kSuccess) return false;
  *id = value;
  return true;
}

// Returns the primary context of a device, with a reference for the caller, if the program has made it active or the
// maker has no other contexts; else null.
ContextHandle active_primary(int device) {
  unsigned flags = 0;
  int active = 0;
  ContextHandle handle = nullptr;
  if (!driver().always_current && (driver().primary_state(device, &flags, &active) != kSuccess || active == 0))
    return nullptr;
  if (driver().primary_retain(&handle, device) != kSuccess) return nullptr;
  return handle;
}

ContextHandle current_of_device(int device) {
  ContextHandle handle = nullptr;
  int current_device = -1;
  if (driver().context_current(&handle) != kSuccess || handle == nullptr) return nullptr;
  if (driver().context_device(&current_device) != kSuccess || current_device != device) return nullptr;
  return handle;
}

// Returns the duration in ticks of the fastest driver call that enqueues work on a stream (base/driver_epoch.hpp).
std::uint64_t cheapest_call(StreamHandle stream, EventHandle event) {
  constexpr int kTries = 16;
  auto least = ~std::uint64_t{0};
  (void)driver().event_record(event, stream);
  for (int i = 0; i < kTries; ++i) {
    const std::uint64_t begun = ticks();
    (void)driver().stream_wait_event(stream, event, 0);
    least = std::min(least, ticks() - begun);
  }
  return least;
}

bool device_is_time_sliced(int device) noexcept {
  if (knobs().device_time_slicing != DeviceTimeSlicingChoice::kAuto) {
    return knobs().device_time_slicing == DeviceTimeSlicingChoice::kOn;
  }
  int mps = 0;
  return driver().device_get_attribute(&mps, kDeviceMps, device) != kSuccess || mps == 0;
}

}  // namespace

Status Context::of(const Location& location, Context** context) {
  HR_TRY(find_or_open(location, context));
  if (location.independent) [[unlikely]]
    return (*context)->twin(context);
  return kOk;
}

Status Context::twin(Context** context) {
  if (twin_ == nullptr) {
    std::unique_ptr<Context> made(new Context(handle_, id_, device_));
    made->base_ = this;
    made->multiprocessors_ = multiprocessors_;
    Current current(*this);
    HR_TRY(current.status());
    HR_DEVICE(device_, stream_create, (&made->stream_, made->stream_flags(), kHighestPriority), "in context %p",
              handle_);
    HR_DEVICE(device_, event_create, (&made->event_, kEventDisableTiming), "in context %p", handle_);
    twin_ = std::move(made);
  }
  twin_->time_sliced_ = time_sliced_;
  *context = twin_.get();
  return kOk;
}

Status Context::prepare_independent() {
  Context* made = nullptr;
  HR_TRY(twin(&made));
  for (int key = 0; key < kCopyStreams; ++key) {
    StreamHandle unused = nullptr;
    HR_TRY(made->copy_stream(key, &unused));
  }
  HR_TRY(made->load_all_kernels());
  static_cast<void>(made->resident_copier().prepare());
  constexpr std::size_t kStagingBytes = std::size_t{1} << 20;
  Staging first;  // goes to the twin's list of free buffers
  HR_TRY(first.take(*made, kStagingBytes));
  return kOk;
}

Status Context::find_or_open(const Location& location, Context** context) {
  if (location.context != nullptr) return open(location.context, location.device, context);
  if (Context* kept = retained_primary(location.device); kept != nullptr) [[likely]] {
    *context = kept;
    return kOk;
  }
  if (ContextHandle primary = active_primary(location.device); primary != nullptr) {
    const Status opened = open(primary, location.device, context);
    // One reference is kept until release(); the new one is released if there already is one.
    if (!opened.ok() || (*context)->primary_retained_) {
      (void)driver().primary_release(location.device);
    } else {
      (*context)->primary_retained_ = true;
    }
    return opened;
  }
  if (ContextHandle handle = current_of_device(location.device); handle != nullptr) {
    return open(handle, location.device, context);
  }
  return fail(Errc::kOther,
              "memory at %#zx of device %d belongs to no context, the device's primary context is not active, and "
              "the calling thread has no current context of that device: make one current before the call",
              static_cast<std::size_t>(location.base), static_cast<int>(location.device));
}

// The library's reference keeps the primary context alive. Only a reset of the device destroys it, which alive()
// detects.
Context* Context::retained_primary(int device) noexcept {
  if (driver().context_id == nullptr) return nullptr;
  for (const auto& known : own<Contexts>().all) {
    if (!known->primary_retained_ || known->device_ != device) continue;
    const std::uint64_t epoch = DriverEpoch::current();
    if (known->alive_epoch_ != epoch && !alive(known->handle_, known->id_)) return nullptr;
    known->alive_epoch_ = epoch;
    return known.get();
  }
  return nullptr;
}

bool Context::alive(ContextHandle handle, std::uint64_t id) noexcept {
  std::uint64_t found = 0;
  return current_id(handle, &found) && found == id;
}

Status Context::open(ContextHandle handle, int device, Context** context) {
  auto& contexts = own<Contexts>().all;
  const auto known =
      std::find_if(contexts.begin(), contexts.end(), [&](const auto& entry) { return entry->handle_ == handle; });
  if (known != contexts.end() && (*known)->alive_epoch_ == DriverEpoch::current()) {
    *context = known->get();
    return kOk;
  }
  std::uint64_t id = 0;
  if (!current_id(handle, &id)) {
    return fail(Errc::kOther, "the context %p of device %d has been destroyed", handle, device);
  }
  if (known != contexts.end()) {
    if ((*known)->id_ == id) [[likely]] {
      (*known)->alive_epoch_ = DriverEpoch::current();
      *context = known->get();
      return kOk;
    }
    contexts.erase(known);  // the library's resources in it were destroyed with it
  }
  std::unique_ptr<Context> made(new Context(handle, id, device));
  {
    Current current(*made);
    HR_TRY(current.status());
    HR_DEVICE(device, stream_create, (&made->stream_, kStreamDefault, kHighestPriority), "in context %p", handle);
    HR_DEVICE(device, event_create, (&made->event_, kEventDisableTiming), "in context %p", handle);
    (void)driver().device_get_attribute(&made->multiprocessors_, kDeviceMultiprocessorCount, device);
    if (contexts.empty()) set_costs(device);
    DriverEpoch::track(cheapest_call(made->stream_, made->event_) / 4 * 3);
  }
  *context = made.get();
  contexts.push_back(std::move(made));
  return kOk;
}

Context::Context(ContextHandle handle, std::uint64_t id, int device) noexcept
    : handle_(handle),
      id_(id),
      device_(device),
      identity_(identity_of(device)),
      device_time_sliced_(device_is_time_sliced(device)) {}

// The library's driver memory in the context has been freed, or has disappeared with the driver's context.
Context::~Context() {
  give_back_buffers(counters::Buffers::kDevice, cached_bytes_);
  give_back_buffers(counters::Buffers::kPinned, cached_pinned_bytes_);
}

Status Context::load_module() {
  module_state_ = Module::kNone;
  if (knobs().device_kernels == DeviceKernelsChoice::kOff) return kOk;
  const Result result = driver().module_load(&module_, driver().kernels);
  if (result == kSuccess) {
    module_state_ = Module::kLoaded;
    return kOk;
  }
  const char* const why = !driver().kernels_built     ? "this library was built without its kernels"
                          : result == kNoBinaryForGpu ? "this library has no kernels for the device"
                                                      : "the kernels do not load";
  log::note_once(own<Contexts>().kernels_noted,
                 "device data of derived types moves by copy engine: %s (%s device %d: %s)", why, driver().names.maker,
                 device_, error_text(result).name);
  return kOk;
}

// The driver may wait for all streams when it loads a kernel on first use.
Status Context::load_all_kernels() {
  if (base_ != nullptr) return base_->load_all_kernels();
  if (module_state_ == Module::kUnknown) HR_TRY(load_module());
  if (module_state_ == Module::kNone || driver().module_functions == nullptr || driver().function_load == nullptr)
    return kOk;
  unsigned count = 0;
  HR_DEVICE(device_, module_function_count, (&count, module_), "loading kernels");
  std::vector<FunctionHandle> functions(count);
  HR_DEVICE(device_, module_functions, (functions.data(), count, module_), "loading kernels");
  for (const FunctionHandle function : functions) HR_DEVICE(device_, function_load, (function), "loading kernels");
  return kOk;
}

Status Context::kernel(const char* name, FunctionHandle* function) {
  if (base_ != nullptr) return base_->kernel(name, function);
  *function = nullptr;
  if (module_state_ == Module::kUnknown) [[unlikely]]
    HR_TRY(load_module());
  if (module_state_ == Module::kNone) return kOk;
  for (const auto& [known, handle] : kernels_) {
    if (std::strcmp(known, name) == 0) {
      *function = handle;
      return kOk;
    }
  }
  HR_DEVICE(device_, module_function, (function, module_, name), "kernel %s", name);
  kernels_.emplace_back(name, *function);
  return kOk;
}

bool Context::can_access(const Context& other) {
  if (other.handle_ == handle_) return true;
  for (const auto& [id, accessible] : peers_) {
    if (id == other.id_) return accessible;
  }
  int possible = other.device_ == device_ ? 1 : 0;
  if (possible == 0) (void)driver().device_can_access_peer(&possible, device_, other.device_);
  bool accessible = false;
  if (possible != 0) {
    const Result result = driver().context_enable_peer(other.handle_, 0);
    accessible = result == kSuccess || result == kPeerAccessAlreadyEnabled;
  }
  // The driver is queried every time if there are no ids, as a cached answer could outlive its context.
  if (other.id_ != 0) peers_.emplace_back(other.id_, accessible);
  return accessible;
}

Status Context::order_after(Context& other, StreamHandle stream) {
  if (&other == this) return kOk;
  {
    Current current(other);
    HR_TRY(current.status());
    HR_DEVICE(other.device_, event_record, (other.event_, other.stream_), "ordering work of two contexts");
  }
  Current current(*this);
  HR_TRY(current.status());
  HR_DEVICE(device_, stream_wait_event, (stream, other.event_, 0), "ordering work of two contexts");
  return kOk;
}

Status Context::copy_stream(int key, StreamHandle* stream) {
  const std::size_t index = static_cast<std::size_t>(key) % kCopyStreams;
  if (copy_streams_.empty()) copy_streams_.resize(kCopyStreams, nullptr);
  if (copy_streams_[index] == nullptr)
    HR_DEVICE(device_, stream_create, (&copy_streams_[index], stream_flags(), kHighestPriority), "for copies");
  *stream = copy_streams_[index];
  return kOk;
}

Result Context::query_default_stream() {
  if (idle()) return kSuccess;
  if (default_stream_barred()) return kNotReady;
  const Result result = driver().stream_query(legacy_stream());
  if (result == kSuccess) idle_epoch_ = DriverEpoch::current();
  return result;
}

Status Context::finish_default_stream() {
  if (default_stream_barred()) {
    // Work on a blocking stream runs after that of the default stream.
    HR_DEVICE(device_, event_record, (event_, stream_), "after the default stream");
    return synchronize("the default stream");
  }
  HR_DEVICE(device_, stream_synchronize, (legacy_stream()), "waiting for the default stream");
  return kOk;
}

bool Context::prepare_fences() {
  if (fence_word_ != nullptr) return true;
  if (driver().stream_write_value == nullptr) return false;
  void* page = nullptr;
  if (driver().host_allocate(&page, 4096, kHostRegisterPortable) != kSuccess) return false;
  if (fence_stream_ == nullptr &&
      driver().stream_create(&fence_stream_, kStreamDefault, kHighestPriority) != kSuccess) {
    (void)driver().host_free(page);
    return false;
  }
  fence_word_ = static_cast<std::uint32_t*>(page);
  *fence_word_ = 0;
  return true;
}

Status Context::set_fence(bool* set, std::uint32_t* number) {
  *set = prepare_fences();
  if (!*set) return finish_default_stream();
  *number = ++last_fence_;
  HR_DEVICE(device_, stream_write_value, (fence_stream_, reinterpret_cast<std::uintptr_t>(fence_word_), *number, 0),
            "a fence");
  return kOk;
}

bool Context::fence_passed(std::uint32_t number) {
  const auto reached = std::atomic_ref<std::uint32_t>(*fence_word_).load(std::memory_order_acquire);
  if (static_cast<std::int32_t>(reached - number) >= 0) return true;
  // A device in an error state no longer writes fences, so the stream is also queried from time to time.
  constexpr std::uint32_t kLooks = 1024;
  if (++looks_at_fence_ % kLooks != 0) return false;
  const Current current(*this);
  const Result result = current.status().ok() ? driver().stream_query(fence_stream_) : kInvalidValue;
  return result != kSuccess && result != kNotReady;
}

Context* Context::find(ContextHandle handle, std::uint64_t id, bool independent) noexcept {
  if (mem::detail::current_state == nullptr) return nullptr;
  for (const auto& known : own<Contexts>().all) {
    if (known->handle_ == handle && known->id_ == id) return independent ? known->twin_.get() : known.get();
  }
  return nullptr;
}

std::uint64_t Context::locality_of(const Location& location) {
  Context* context = nullptr;
  if (location.is_host()) return 0;
  if (of(location, &context).ok()) return context->locality();
  static_cast<void>(take_detail());  // the work itself will report it
  return 0;
}

bool Context::note_peer_device(const Location& location, std::uint64_t locality) {
  if (locality == 0 || !share_time_sliced(locality, locality_of(location))) return false;
  Context* context = nullptr;
  if (!find_or_open(location, &context).ok() || context->time_sliced_) return true;
  context->time_sliced_ = true;
  context->resident_copier().disable();  // while its kernel waits, no other process's kernel runs
  log::write(log::Level::kNote,
             "device %d is shared with another process, and MPS is not running: all but long data goes through "
             "pinned memory",
             context->device_);
  return true;
}

ResidentCopier& Context::resident_copier() {
  if (resident_copier_ == nullptr) resident_copier_ = std::make_unique<ResidentCopier>(*this);
  return *resident_copier_;
}

Status Context::take_event(EventHandle* event) {
  if (base_ != nullptr) return base_->take_event(event);
  if (free_events_.empty()) {
    HR_DEVICE(device_, event_create, (event, kEventDisableTiming), "for transfers");
    return kOk;
  }
  *event = free_events_.back();
  free_events_.pop_back();
  return kOk;
}

void Context::return_event(ContextHandle context, std::uint64_t id, EventHandle event) noexcept {
  if (Context* known = find(context, id); known != nullptr) known->free_events_.push_back(event);
}

bool Context::passed(StreamHandle stream, std::uint64_t record) const noexcept {
  return std::any_of(passed_.begin(), passed_.end(),
                     [&](const auto& each) { return each.first == stream && each.second >= record; });
}

void Context::note_passed(StreamHandle stream, std::uint64_t record) noexcept {
  for (auto& [known, last] : passed_) {
    if (known != stream) continue;
    last = std::max(last, record);
    return;
  }
  passed_.emplace_back(stream, record);
}

Status Context::synchronize(const char* what) {
  HR_DEVICE(device_, stream_synchronize, (stream_), "waiting for %s", what);
  return kOk;
}

void Context::release() noexcept {
  if (twin_ != nullptr) twin_->release();
  const bool entered = alive(handle_, id_) && driver().context_push(handle_) == kSuccess;
  if (entered) {
    // A failure here means that the program is shutting the driver down, and that nothing is left to release.
    if (resident_copier_ != nullptr) resident_copier_->release();
    for (const Buffer& buffer : free_buffers_) (void)driver().memory_free(buffer.address);
    for (const std::span<std::byte> memory : free_pinned_) (void)driver().host_free(memory.data());
    if (module_state_ == Module::kLoaded) (void)driver().module_unload(module_);
    for (const EventHandle event : free_events_) (void)driver().event_destroy(event);
    for (const StreamHandle lane : copy_streams_) {
      if (lane != nullptr) (void)driver().stream_destroy(lane);
    }
    // Otherwise a pending fence could be written into freed memory.
    if (fence_stream_ != nullptr) (void)driver().stream_synchronize(fence_stream_);
    if (fence_stream_ != nullptr) (void)driver().stream_destroy(fence_stream_);
    if (fence_word_ != nullptr) (void)driver().host_free(fence_word_);
    (void)driver().event_destroy(event_);
    (void)driver().stream_destroy(stream_);
    ContextHandle popped = nullptr;
    (void)driver().context_pop(&popped);
  }
  if (primary_retained_ && entered) (void)driver().primary_release(device_);
}

Current::Current(const Context& context)
    : status_(report(driver().context_push(context.handle()), "context_push", context.device(), "context %p",
                     context.handle())) {}

Current::~Current() {
  ContextHandle popped = nullptr;
  if (status_.ok()) (void)driver().context_pop(&popped);
}

void release_contexts() {
  DeferredFrees::flush();
  release_ipc();
  auto& contexts = own<Contexts>().all;
  for (const auto& context : contexts) context->release();
  contexts.clear();
}

}  // namespace hr::mem::device
