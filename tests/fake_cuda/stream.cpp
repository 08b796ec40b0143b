#include "stream.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "non_coherent.hpp"
#include "stream_state.hpp"

namespace fake_cuda {

// Guards streams, operations and events; never held while work runs.
std::mutex& work_mutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::set<Stream*>& streams() {
  static auto* all = new std::set<Stream*>;
  return *all;
}
std::set<Event*>& events() {
  static auto* all = new std::set<Event*>;
  return *all;
}

namespace {

std::condition_variable& finished() {
  static auto* condition = new std::condition_variable;
  return *condition;
}

bool lazy() {
  static const bool value = [] {
    const char* text = std::getenv("FAKE_CUDA_LAZY");
    return text != nullptr && *text == '1';
  }();
  return value;
}

// Maximum number of operations in a stream; 0: no limit.
std::size_t room() {
  static const std::size_t value = [] {
    const char* text = std::getenv("FAKE_CUDA_QUEUE");
    return text == nullptr ? 0UL : std::strtoul(text, nullptr, 10);
  }();
  return value;
}
std::recursive_mutex& submission_lock() {
  static auto* lock = new std::recursive_mutex;
  return *lock;
}

void wake_all() {
  for (Stream* stream : streams()) stream->changed.notify_all();
  finished().notify_all();
}

void want(const OperationPointer& operation) {
  std::vector<Operation*> open{operation.get()};
  bool changed = false;
  while (!open.empty()) {
    Operation* next = open.back();
    open.pop_back();
    if (next == nullptr || next->wanted || next->done) continue;
    next->wanted = true;
    changed = true;
    for (const OperationPointer& earlier : next->after) open.push_back(earlier.get());
  }
  if (changed) wake_all();
}

void wait_for(std::unique_lock<std::mutex>& lock, const OperationPointer& operation) {
  if (operation == nullptr) return;
  want(operation);
  finished().wait(lock, [&] { return operation->done; });
}

bool ready(const Operation& operation) {
  if (!operation.wanted) return false;
  for (const OperationPointer& earlier : operation.after) {
    if (!earlier->done) return false;
  }
  return true;
}

void serve(Stream* stream) {
  std::unique_lock lock(work_mutex());
  while (true) {
    stream->changed.wait(lock, [&] {
      return (!stream->alive && stream->queue.empty()) || (!stream->queue.empty() && ready(*stream->queue.front()));
    });
    if (stream->queue.empty()) return;
    const OperationPointer operation = stream->queue.front();
    lock.unlock();
    const Result result = operation->context->sticky == kSuccess && operation->work ? operation->work() : kSuccess;
    operation->work = nullptr;
    lock.lock();
    if (result != kSuccess && operation->context->sticky == kSuccess) operation->context->sticky = result;
    operation->done = true;
    operation->after.clear();
    stream->queue.pop_front();
    wake_all();
  }
}

}  // namespace

std::size_t& hardware_queues() {
  static std::size_t count = 0;
  return count;
}

namespace {

// Returns the queue of this priority that the fewest streams share.
HardwareQueue* find_hardware_queue(Context* context, int priority) {
  static auto* all = new std::map<std::pair<Context*, int>, std::vector<HardwareQueue>>;
  if (hardware_queues() == 0) return nullptr;
  auto& queues = (*all)[{context, priority < 0 ? -1 : priority > 0 ? 1 : 0}];
  queues.resize(hardware_queues());
  const auto found = std::min_element(queues.begin(), queues.end(),
                                      [](const auto& one, const auto& other) { return one.streams < other.streams; });
  ++found->streams;
  return &*found;
}

}  // namespace

Stream* make_stream(Context* context, bool blocking, int priority) {
  std::lock_guard lock(work_mutex());
  auto* stream = new Stream;
  stream->context = context;
  stream->hardware = find_hardware_queue(context, priority);
  stream->blocking = blocking;
  streams().insert(stream);
  context->streams.insert(stream);
  std::thread(serve, stream).detach();
  return stream;
}

void expect_not_destroyed(const Stream* stream, const char* call) {
  if (streams().count(const_cast<Stream*>(stream)) == 0 || !stream->destroyed) return;
  std::fprintf(stderr, "fake CUDA driver: %s uses stream %p, which was destroyed: drivers crash here\n", call,
               static_cast<const void*>(stream));
  std::abort();
}

Result use_stream(Context* context, void* handle, Stream** stream, const char* call) {
  std::lock_guard lock(work_mutex());
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) {
    *stream = context->legacy;
    return legacy_stream_is_usable(context, true);
  }
  *stream = static_cast<Stream*>(handle);
  expect_not_destroyed(*stream, call);
  const bool known = streams().count(*stream) != 0 && (*stream)->alive && (*stream)->context == context;
  return known ? kSuccess : kInvalidHandle;
}

Submission::Submission() {
  if (room() != 0) submission_lock().lock();
}
Submission::~Submission() {
  if (room() != 0) submission_lock().unlock();
}

void wait_for_submissions(const char* call) {
  constexpr std::string_view kFree[] = {
      "cuCtxGetCurrent",  "cuCtxPushCurrent_v2", "cuCtxPopCurrent_v2", "cuCtxGetId",    "cuCtxSetCurrent",
      "cuCtxSynchronize", "cuEventQuery",        "cuEventSynchronize", "cuStreamQuery", "cuStreamSynchronize"};
  if (room() != 0 && std::find(std::begin(kFree), std::end(kFree), call) == std::end(kFree)) const Submission wait;
}

OperationPointer enqueue(Stream* stream, std::function<Result()> work, OperationPointer after, bool captured) {
  const Submission submission;
  std::unique_lock lock(work_mutex());
  captured = captured && stream->capture != nullptr;
  if (room() != 0 && !captured) {
    finished().wait(lock, [&] { return stream->queue.size() < room(); });
  }
  auto operation = std::make_shared<Operation>();
  operation->work = std::move(work);
  operation->context = stream->context;
  operation->wanted = !lazy();
  if (captured) {
    if (operation->work) stream->capture->nodes.push_back(operation->work);
    operation->done = true;
    return operation;
  }
  const auto add = [&](const OperationPointer& earlier) {
    if (earlier != nullptr && !earlier->done) operation->after.push_back(earlier);
  };
  add(after);
  add(stream->last);
  Context* context = stream->context;
  if (stream == context->legacy) {
    for (Stream* other : context->streams) {
      if (other->blocking) add(other->last);
    }
  } else if (stream->blocking && context->legacy != nullptr) {
    add(context->legacy->last);
  }
  if (stream->hardware != nullptr) {
    add(stream->hardware->last);
    stream->hardware->last = operation;
  }
  stream->queue.push_back(operation);
  stream->last = operation;
  stream->changed.notify_all();
  return operation;
}

Result synchronize_stream(Stream* stream) {
  std::unique_lock lock(work_mutex());
  // The default stream is done when the blocking streams for which it would wait are done.
  if (stream == stream->context->legacy) {
    const std::set<Stream*> others = stream->context->streams;
    for (Stream* other : others) {
      if (other->blocking) wait_for(lock, OperationPointer(other->last));
    }
  }
  wait_for(lock, OperationPointer(stream->last));
  (void)non_coherent::release_to_system();
  return stream->context->sticky;
}

Result synchronize_context(Context* context) {
  std::unique_lock lock(work_mutex());
  const std::set<Stream*> all = context->streams;
  for (Stream* stream : all) wait_for(lock, OperationPointer(stream->last));
  (void)non_coherent::release_to_system();
  return context->sticky;
}

void break_context(Context* context, Result result) {
  std::lock_guard lock(work_mutex());
  if (context->sticky == kSuccess) context->sticky = result;
}

void stop_streams(Context* context) {
  (void)synchronize_context(context);
  std::lock_guard lock(work_mutex());
  for (Stream* stream : context->streams) {
    stream->alive = false;
    stream->changed.notify_all();
  }
  context->streams.clear();
}

}  // namespace fake_cuda

using namespace fake_cuda;

namespace {

Result create_stream(void** stream, unsigned flags, int priority) {
  Context* context = nullptr;
  if (const Result result = require_context(&context, "cuStreamCreate"); result != kSuccess) return result;
  if (flags > 1) return kInvalidValue;
  *stream = make_stream(context, flags == 0, priority);
  return kSuccess;
}

}  // namespace

FAKE_API Result cuStreamCreate(void** stream, unsigned flags) { return create_stream(stream, flags, 0); }
FAKE_API Result cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}

FAKE_API Result cuStreamDestroy_v2(void* handle) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::unique_lock lock(work_mutex());
  auto* stream = static_cast<Stream*>(handle);
  expect_not_destroyed(stream);
  if (streams().count(stream) == 0 || !stream->alive || stream->context->legacy == stream) return kInvalidHandle;
  stream->destroyed = true;
  if (stream->hardware != nullptr) --stream->hardware->streams;
  if (stream->last != nullptr) want(stream->last);  // work enqueued on the stream still runs
  stream->alive = false;
  stream->context->streams.erase(stream);
  stream->changed.notify_all();
  return kSuccess;
}

FAKE_API Result cuStreamSynchronize(void* handle) {
  Context* context = nullptr;
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) {
    if (const Result result = require_context(&context); result != kSuccess) return result;
    Stream* legacy = nullptr;
    if (const Result result = use_stream(context, handle, &legacy); result != kSuccess) return result;
    return synchronize_stream(legacy);
  }
  if (const Result result = require_init(); result != kSuccess) return result;
  auto* stream = static_cast<Stream*>(handle);
  {
    std::lock_guard lock(work_mutex());
    expect_not_destroyed(stream);
    if (streams().count(stream) == 0 || !stream->alive) return kInvalidHandle;
    if (const Result result = not_captured(stream); result != kSuccess) return result;
  }
  return synchronize_stream(stream);
}

FAKE_API Result cuStreamQuery(void* handle) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  Stream* stream = nullptr;
  if (const Result result = use_stream(context, handle, &stream); result != kSuccess) return result;
  std::lock_guard lock(work_mutex());
  if (const Result result = not_captured(stream); result != kSuccess) return result;
  if (stream->last == nullptr || stream->last->done) return context->sticky;
  want(stream->last);
  return kNotReady;
}

FAKE_API Result cuEventCreate(void** event, unsigned flags) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  constexpr unsigned kBlockingSync = 1, kDisableTiming = 2, kInterprocess = 4;
  if ((flags & ~(kBlockingSync | kDisableTiming | kInterprocess)) != 0) return kInvalidValue;
  if ((flags & kInterprocess) != 0 && (flags & kDisableTiming) == 0) return kInvalidValue;
  std::lock_guard lock(work_mutex());
  auto* made = new Event;
  events().insert(made);
  *event = made;
  return kSuccess;
}

FAKE_API Result cuEventDestroy_v2(void* handle) {
  std::lock_guard lock(work_mutex());
  auto* event = static_cast<Event*>(handle);
  if (events().erase(event) == 0) return kInvalidHandle;
  delete event;
  return kSuccess;
}

FAKE_API Result cuEventRecord(void* handle, void* stream_handle) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  Stream* stream = nullptr;
  if (const Result result = use_stream(context, stream_handle, &stream); result != kSuccess) return result;
  std::function<Result()> work;
  {
    std::lock_guard lock(work_mutex());
    if (events().count(static_cast<Event*>(handle)) == 0) return kInvalidHandle;
    if (static_cast<Event*>(handle)->releases_to_system) work = &non_coherent::release_to_system;
  }
  OperationPointer operation = enqueue(stream, std::move(work));
  std::lock_guard lock(work_mutex());
  static_cast<Event*>(handle)->operation = std::move(operation);
  static_cast<Event*>(handle)->capture = stream->capture;
  return kSuccess;
}

FAKE_API Result cuEventQuery(void* handle) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::lock_guard lock(work_mutex());
  auto* event = static_cast<Event*>(handle);
  if (events().count(event) == 0) return kInvalidHandle;
  if (event->capture != nullptr) return kCapturedEvent;
  if (event->operation == nullptr) return kSuccess;
  if (event->operation->done) return event->operation->context->sticky;
  want(event->operation);
  return kNotReady;
}

FAKE_API Result cuEventSynchronize(void* handle) {
  if (const Result result = require_init(); result != kSuccess) return result;
  std::unique_lock lock(work_mutex());
  auto* event = static_cast<Event*>(handle);
  if (events().count(event) == 0) return kInvalidHandle;
  if (event->capture != nullptr) return kCapturedEvent;
  const OperationPointer operation = event->operation;
  wait_for(lock, operation);
  return operation == nullptr ? kSuccess : operation->context->sticky;
}

FAKE_API Result cuStreamWaitEvent(void* stream_handle, void* handle, unsigned) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  Stream* stream = nullptr;
  if (const Result result = use_stream(context, stream_handle, &stream); result != kSuccess) return result;
  OperationPointer operation;
  {
    std::lock_guard lock(work_mutex());
    auto* event = static_cast<Event*>(handle);
    if (events().count(event) == 0) return kInvalidHandle;
    if (event->capture != nullptr) {
      join(event->capture, stream);
      return kSuccess;
    }
    if (stream->capture != nullptr) {
      stream->capture->invalid = kCaptureIsolation;
      return kCaptureIsolation;
    }
    operation = event->operation;
  }
  if (operation != nullptr) enqueue(stream, nullptr, operation);
  return kSuccess;
}

FAKE_API Result cuLaunchHostFunc(void* stream_handle, void (*function)(void*), void* data) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  Stream* stream = nullptr;
  if (const Result result = use_stream(context, stream_handle, &stream); result != kSuccess) return result;
  enqueue(stream, [function, data] {
    function(data);
    return kSuccess;
  });
  return kSuccess;
}
