#include "mem/device/program_stream.hpp"

#include <algorithm>

#include "mem/device/deferred_free.hpp"

namespace hr::mem::device {
namespace {

constexpr std::uintptr_t kPerThreadStream = 2;
constexpr int kRelaxedCapture = 2;
constexpr std::size_t kMostInBatch = 256;  // the driver's limit
constexpr int kNotCapturing = 0, kCapturing = 1;

}  // namespace

Status ProgramStream::open(StreamHandle handle, ProgramStream* made) {
  const Driver* const driver = find_driver();
  int devices = 0;
  if (driver == nullptr || driver->device_get_count(&devices) != kSuccess || devices == 0) {
    return fail(Errc::kOther, "a device's stream needs a driver and a device, and this process has %s",
                driver == nullptr ? "no usable driver" : "no device (or has not initialised the driver)");
  }
  if (driver->stream_write_value == nullptr || driver->stream_wait_value == nullptr) {
    return fail(Errc::kOther,
                "operations cannot be enqueued: streams of %s do not wait for words here, as the driver lacks %s; call "
                "MPI's other functions after the stream's work, or use a driver that has it",
                driver->names.maker, driver->symbol_of("stream_wait_value"));
  }
  if (reinterpret_cast<std::uintptr_t>(handle) == kPerThreadStream) {
    return fail(Errc::kArg, "the stream is %s, which is another stream in each thread: create one with %s",
                driver->names.per_thread_stream, driver->names.create_stream);
  }
  ContextHandle context = nullptr;
  if (reinterpret_cast<std::uintptr_t>(handle) > kPerThreadStream && driver->stream_context != nullptr) {
    if (const Result result = driver->stream_context(handle, &context); result != kSuccess) {
      return fail(Errc::kArg, "%p is no %s of this process (%s: %s)", handle, driver->names.stream_type,
                  driver->symbol_of("stream_context"), error_text(result).name);
    }
  } else if (driver->context_current(&context) != kSuccess || context == nullptr) {
    return fail(Errc::kOther, "the calling thread has no current device context: call %s first",
                driver->names.set_device);
  }
  made->handle_ = handle;
  made->context_ = context;
  HR_DEVICE(-1, context_push, (context), "the context of stream %p", handle);
  const Result result = driver->context_device(&made->device_);
  ContextHandle popped = nullptr;
  (void)driver->context_pop(&popped);
  HR_TRY(report(result, "context_device", -1, "the context of stream %p", handle));
  int flushes = 0;
  (void)driver->device_get_attribute(&flushes, kDeviceFlushesRemoteWrites, made->device_);
  made->wait_flags_ = kWaitAtLeast | (flushes != 0 ? kWaitFlush : 0);
  Location like;
  like.kind = Kind::kDevice;
  like.context = context;
  like.device = static_cast<std::int16_t>(made->device_);
  Context* ours = nullptr;
  HR_TRY(Context::of(like, &ours));
  made->id_ = ours->id();
  const Current current(*ours);
  HR_TRY(current.status());
  HR_TRY(ours->prepare_independent());
  made->batched_ = driver->stream_batch != nullptr;
  static_cast<void>(made->can_be_captured());
  return kOk;
}

Status ProgramStream::enter(bool* pushed) const {
  ContextHandle current = nullptr;
  *pushed = driver().context_current(&current) != kSuccess || current != context_;
  if (*pushed) HR_DEVICE(device_, context_push, (context_), "the context of stream %p", handle_);
  return kOk;
}

namespace {

// Restores the context that was current before ProgramStream::enter().
class Left {
 public:
  explicit Left(const bool& pushed) noexcept : pushed_(pushed) {}
  ~Left() {
    ContextHandle popped = nullptr;
    if (pushed_) (void)driver().context_pop(&popped);
  }
  Left(const Left&) = delete;
  Left& operator=(const Left&) = delete;

 private:
  const bool& pushed_;
};

}  // namespace

Status ProgramStream::capture(Capture* state) const {
  *state = Capture::kNone;
  if (driver().stream_is_capturing == nullptr) return kOk;
  bool pushed = false;
  HR_TRY(enter(&pushed));
  const Left left(pushed);
  int status = kNotCapturing;
  const Result result = driver().stream_is_capturing(handle_, &status);
  if (result == kStreamCaptureImplicit) {
    return fail(
        Errc::kOther,
        "the communicator's stream is the default stream, which cannot be used while a stream that synchronises "
        "with it is captured");
  }
  if (result != kSuccess) {
    return fail(Errc::kOther,
                "stream %p of the communicator cannot be used: its context was destroyed, or its device failed (%s)",
                handle_, error_text(result).name);
  }
  *state = status == kNotCapturing ? Capture::kNone : status == kCapturing ? Capture::kActive : Capture::kBroken;
  return kOk;
}

CaptureId ProgramStream::capture_id() const noexcept {
  constexpr CaptureId kAny = ~CaptureId{0};
  if (driver().stream_capture_info == nullptr) return kAny;
  bool pushed = false;
  if (!enter(&pushed).ok()) {
    static_cast<void>(take_detail());
    return kAny;
  }
  const Left left(pushed);
  int status = kNotCapturing;
  unsigned long long id = 0;
  const Result result = driver().stream_capture_info(handle_, &status, &id, nullptr, nullptr, nullptr);
  return result == kSuccess && status == kCapturing && id != 0 ? id : kAny;
}

bool ProgramStream::can_be_captured() {
  if (capturable_ == Ability::kUnknown) capturable_ = try_capture() ? Ability::kYes : Ability::kNo;
  return capturable_ == Ability::kYes;
}

// Captures operations on a stream of the library: in one call if the driver supports that; if this capture fails, one
// by one. True if one of the captures succeeds; append() then makes its calls in the same way (batched_).
bool ProgramStream::try_capture() {
  Context* const ours = context();
  const Driver& calls = driver();
  if (ours == nullptr || calls.stream_begin_capture == nullptr || calls.stream_end_capture == nullptr ||
      calls.graph_destroy == nullptr)
    return false;
  const Current current(*ours);
  void* page = nullptr;
  constexpr std::size_t kPage = 4096;
  if (!current.status().ok() ||
      calls.host_allocate(&page, kPage, kHostRegisterPortable | kHostRegisterDeviceMap) != kSuccess)
    return false;
  const auto word = reinterpret_cast<std::uintptr_t>(page);
  bool captured = false;
  for (const bool batched : {true, false}) {
    batched_ = batched && calls.stream_batch != nullptr;
    ProgramStream trial = *this;
    if (calls.stream_create(&trial.handle_, kStreamNonBlocking, 0) != kSuccess) break;
    captured = calls.stream_begin_capture(trial.handle_, kRelaxedCapture) == kSuccess;
    if (captured) {
      StreamOperation operations[] = {write(word, 1), wait(word, 1)};
      GraphHandle graph = nullptr;
      captured = trial.append(operations).ok();
      captured = calls.stream_end_capture(trial.handle_, &graph) == kSuccess && captured;
      if (graph != nullptr) (void)calls.graph_destroy(graph);
    }
    (void)calls.stream_destroy(trial.handle_);
    if (captured) break;
    static_cast<void>(take_detail());
  }
  DeferredFrees::free(DeferredFrees::Kind::kPinned, context_, id_, word);
  return captured;
}

StreamOperation ProgramStream::write(DeviceAddress word, std::uint32_t value) noexcept {
  return {StreamOperation::kWrite, word, value, 0, 0, 0};
}

StreamOperation ProgramStream::wait(DeviceAddress word, std::uint32_t value) const noexcept {
  return {StreamOperation::kWait, word, value, wait_flags_, 0, 0};
}

Status ProgramStream::append(std::span<StreamOperation> operations) const {
  bool pushed = false;
  HR_TRY(enter(&pushed));
  const Left left(pushed);
  while (operations.size() > 1 && batched_) {
    const std::size_t count = std::min(operations.size(), kMostInBatch);
    HR_DEVICE(device_, stream_batch, (handle_, static_cast<unsigned>(count), operations.data(), 0), "stream %p",
              handle_);
    operations = operations.subspan(count);
  }
  for (const StreamOperation& each : operations) {
    const auto value = static_cast<std::uint32_t>(each.value);
    if (each.kind == StreamOperation::kWrite) {
      HR_DEVICE(device_, stream_write_value, (handle_, each.address, value, each.flags), "stream %p", handle_);
    } else {
      HR_DEVICE(device_, stream_wait_value, (handle_, each.address, value, each.flags), "stream %p", handle_);
    }
  }
  return kOk;
}

Status ProgramStream::launch(FunctionHandle function, unsigned blocks, unsigned threads, void* parameter) const {
  bool pushed = false;
  HR_TRY(enter(&pushed));
  const Left left(pushed);
  void* parameters[] = {parameter};
  HR_DEVICE(device_, launch, (function, blocks, 1, 1, threads, 1, 1, 0, handle_, parameters, nullptr), "stream %p",
            handle_);
  return kOk;
}

bool ProgramStream::idle() const noexcept {
  bool pushed = false;
  if (!enter(&pushed).ok()) return true;
  const Left left(pushed);
  return driver().stream_query(handle_) != kNotReady;
}

Status ProgramStream::synchronize() const {
  bool pushed = false;
  HR_TRY(enter(&pushed));
  const Left left(pushed);
  HR_DEVICE(device_, stream_synchronize, (handle_), "waiting for stream %p", handle_);
  return kOk;
}

}  // namespace hr::mem::device
