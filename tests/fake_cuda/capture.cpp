// Captures of the fake driver: work enqueued on a captured stream becomes nodes of a graph; forbidden calls meanwhile
// fail.
//
// - Calls that may synchronise implicitly, or that query the state of work, are refused to a thread that captures
//   (except in relaxed mode), and to all others while any thread captures in global mode. A thread whose own mode is
//   relaxed (cuThreadExchangeStreamCaptureMode) is refused nothing.
// - The default stream cannot be used while a stream of its context that synchronises with it is captured.
// - Captured streams and events cannot be waited for or queried.
// A refused call invalidates the captures that caused the refusal.
#include <algorithm>
#include <atomic>
#include <string_view>

#include "stream_state.hpp"

namespace fake_cuda {

struct Graph {
  std::vector<std::function<Result()>> nodes;
};

namespace {

enum Mode { kGlobal = 0, kThreadLocal = 1, kRelaxed = 2 };

thread_local int interaction = kGlobal;
std::atomic<int> under_way{0};

bool is_unsafe(std::string_view call) {
  constexpr std::string_view kCalls[] = {
      "cuMemAlloc",         "cuMemFree",           "cuMemAllocManaged",   "cuMemHostAlloc",   "cuMemAllocHost",
      "cuMemFreeHost",      "cuMemHostRegister",   "cuMemHostUnregister", "cuMemcpy",         "cuMemcpyHtoD",
      "cuMemcpyDtoH",       "cuMemcpyDtoD",        "cuMemcpyPeer",        "cuMemcpy2D",       "cuMemcpy2DUnaligned",
      "cuMemcpy3D",         "cuMemsetD8",          "cuMemsetD16",         "cuMemsetD32",      "cuEventQuery",
      "cuEventSynchronize", "cuStreamQuery",       "cuStreamSynchronize", "cuCtxSynchronize", "cuIpcGetMemHandle",
      "cuIpcOpenMemHandle", "cuIpcCloseMemHandle", "cuModuleLoadData",    "cuModuleUnload",   "cuCtxEnablePeerAccess",
      "cuMemMap",           "cuMemUnmap",          "cuMemSetAccess",      "cuMemCreate",      "cuMemRelease"};
  return std::find(std::begin(kCalls), std::end(kCalls), call) != std::end(kCalls);
}

bool forbids(const Capture& capture) {
  if (interaction == kRelaxed || capture.mode == kRelaxed) return false;
  if (capture.thread == std::this_thread::get_id()) return true;
  return capture.mode == kGlobal && interaction == kGlobal;
}

void spoil(Capture& capture, Result why) {
  if (capture.invalid == kSuccess) capture.invalid = why;
}

}  // namespace

std::set<std::shared_ptr<Capture>>& captures() {
  static auto* all = new std::set<std::shared_ptr<Capture>>;
  return *all;
}

Result allowed_while_capturing(const char* call) {
  if (under_way.load() == 0 || !is_unsafe(without_version(call))) return kSuccess;
  std::lock_guard lock(work_mutex());
  Result result = kSuccess;
  for (const auto& capture : captures()) {
    if (!forbids(*capture)) continue;
    spoil(*capture, kCaptureUnsupported);
    result = kCaptureUnsupported;
  }
  return result;
}

Result legacy_stream_is_usable(Context* context, bool spoils) {
  Result result = kSuccess;
  for (const auto& capture : captures()) {
    const bool in_the_way = std::any_of(capture->streams.begin(), capture->streams.end(), [&](const Stream* stream) {
      return stream->blocking && stream->context == context;
    });
    if (!in_the_way) continue;
    if (spoils) spoil(*capture, kCaptureImplicit);
    result = kCaptureImplicit;
  }
  return result;
}

Result context_is_not_captured(Context* context) {
  std::lock_guard lock(work_mutex());
  Result result = kSuccess;
  for (const auto& capture : captures()) {
    if (capture->origin->context != context) continue;
    spoil(*capture, kCaptureUnsupported);
    result = kCaptureUnsupported;
  }
  return result;
}

Result not_captured(Stream* stream) {
  if (stream->capture == nullptr) return kSuccess;
  spoil(*stream->capture, kCaptureUnsupported);
  return kCaptureUnsupported;
}

void join(const std::shared_ptr<Capture>& capture, Stream* stream) {
  if (stream->capture != nullptr) return;
  stream->capture = capture;
  capture->streams.insert(stream);
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API Result cuThreadExchangeStreamCaptureMode(int* mode) {
  if (*mode < kGlobal || *mode > kRelaxed) return kInvalidValue;
  std::swap(*mode, interaction);
  return kSuccess;
}

FAKE_API Result cuStreamBeginCapture_v2(void* handle, int mode) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  if (mode < kGlobal || mode > kRelaxed) return kInvalidValue;
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) return kCaptureUnsupported;
  Stream* stream = nullptr;
  if (const Result result = use_stream(context, handle, &stream); result != kSuccess) return result;
  std::lock_guard lock(work_mutex());
  if (stream->capture != nullptr) return kIllegalState;
  static unsigned long long captures_begun = 0;
  auto capture = std::make_shared<Capture>();
  capture->id = ++captures_begun;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream;
  join(capture, stream);
  captures().insert(std::move(capture));
  ++under_way;
  return kSuccess;
}

FAKE_API Result cuStreamEndCapture(void* handle, Graph** graph) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  Stream* stream = nullptr;
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) return kIllegalState;
  if (const Result result = use_stream(context, handle, &stream); result != kSuccess) return result;
  std::lock_guard lock(work_mutex());
  const std::shared_ptr<Capture> capture = stream->capture;
  *graph = nullptr;
  if (capture == nullptr) return kIllegalState;
  if (capture->origin != stream) return kCaptureUnmatched;
  if (capture->mode != kRelaxed && capture->thread != std::this_thread::get_id()) return kCaptureWrongThread;
  for (Stream* each : capture->streams) each->capture = nullptr;
  captures().erase(capture);
  --under_way;
  if (capture->invalid != kSuccess) return kCaptureInvalidated;
  *graph = new Graph{capture->nodes};
  return kSuccess;
}

FAKE_API Result cuStreamIsCapturing(void* handle, int* status) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  *status = 0;
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) {
    std::lock_guard lock(work_mutex());
    return legacy_stream_is_usable(context, false);
  }
  Stream* stream = nullptr;
  if (const Result result = use_stream(context, handle, &stream); result != kSuccess) return result;
  std::lock_guard lock(work_mutex());
  if (stream->capture != nullptr) *status = stream->capture->invalid == kSuccess ? 1 : 2;
  return kSuccess;
}

// The graph and the dependencies cannot be queried.
FAKE_API Result cuStreamGetCaptureInfo_v2(void* handle, int* status, unsigned long long* id, Graph** graph,
                                          void*** nodes, std::size_t* count) {
  if (graph != nullptr || nodes != nullptr || count != nullptr) return kInvalidValue;
  if (const Result result = cuStreamIsCapturing(handle, status); result != kSuccess) return result;
  std::lock_guard lock(work_mutex());
  if (*status != 0 && id != nullptr) *id = static_cast<Stream*>(handle)->capture->id;
  return kSuccess;
}

// --- graphs: their nodes in a single order ---

FAKE_API Result cuGraphGetNodes(Graph* graph, void** nodes, std::size_t* count) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (graph == nullptr || nodes != nullptr) return kInvalidValue;  // only their number can be queried
  *count = graph->nodes.size();
  return kSuccess;
}
FAKE_API Result cuGraphDestroy(Graph* graph) {
  if (const Result result = require_init(); result != kSuccess) return result;
  delete graph;
  return kSuccess;
}
FAKE_API Result cuGraphInstantiateWithFlags(Graph** executable, Graph* graph, unsigned long long) {
  if (const Result result = require_init(); result != kSuccess) return result;
  if (graph == nullptr) return kInvalidValue;
  *executable = new Graph(*graph);
  return kSuccess;
}
FAKE_API Result cuGraphExecDestroy(Graph* executable) {
  if (const Result result = require_init(); result != kSuccess) return result;
  delete executable;
  return kSuccess;
}
FAKE_API Result cuGraphLaunch(Graph* executable, void* handle) {
  Context* context = nullptr;
  if (const Result result = require_context(&context); result != kSuccess) return result;
  Stream* stream = nullptr;
  if (const Result result = use_stream(context, handle, &stream); result != kSuccess) return result;
  const Submission whole;
  for (const auto& node : executable->nodes) enqueue(stream, node);
  return kSuccess;
}
