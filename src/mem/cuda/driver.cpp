#include "mem/cuda/driver.hpp"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "mem/mem.hpp"

namespace hr::mem::cuda {
namespace {

Driver table;
Driver bare;  // the same functions without CaptureScope
bool searched = false;
bool found = false;

// Returns the driver's own name for a member of Driver, for error texts.
const char* symbol_of(const char* member) noexcept {
#define HR_CUDA_SYMBOL(name, symbol, parameters) \
  if (std::strcmp(member, #name) == 0) return #symbol;
  HR_CUDA_FUNCTIONS(HR_CUDA_SYMBOL)
  HR_CUDA_CHUNK_FUNCTIONS(HR_CUDA_SYMBOL)
#undef HR_CUDA_SYMBOL
  constexpr std::pair<const char*, const char*> kOptional[] = {{"stream_write_value", "cuStreamWriteValue32"},
                                                               {"stream_wait_value", "cuStreamWaitValue32"},
                                                               {"stream_batch", "cuStreamBatchMemOp"},
                                                               {"stream_context", "cuStreamGetCtx"},
                                                               {"stream_is_capturing", "cuStreamIsCapturing"},
                                                               {"module_function_count", "cuModuleGetFunctionCount"},
                                                               {"module_functions", "cuModuleEnumerateFunctions"},
                                                               {"function_load", "cuFuncLoad"}};
  for (const auto& [name, symbol] : kOptional) {
    if (std::strcmp(member, name) == 0) return symbol;
  }
  return member;
}

// Lets this thread make calls that the driver otherwise rejects during a capture.
class CaptureScope {
 public:
  CaptureScope() noexcept : changed_(bare.exchange_capture_mode(&mode_) == kSuccess) {}
  ~CaptureScope() {
    if (changed_) (void)bare.exchange_capture_mode(&mode_);
  }
  CaptureScope(const CaptureScope&) = delete;
  CaptureScope& operator=(const CaptureScope&) = delete;

 private:
  static constexpr int kRelaxed = 2;
  int mode_ = kRelaxed;
  bool changed_;
};

template <auto kMember>
struct Scoped;
template <class... Arguments, Result (*Driver::*kMember)(Arguments...)>
struct Scoped<kMember> {
  static Result call(Arguments... arguments) {
    const CaptureScope scope;
    return (bare.*kMember)(arguments...);
  }
};

// Wraps the given members in a CaptureScope. Calls that only enqueue work on our streams or order it, and queries about
// pointers and contexts, do not need it.
template <auto... kMembers>
void scope() noexcept {
  bare = table;
  if (bare.exchange_capture_mode == nullptr) return;
  ((table.*kMembers = bare.*kMembers == nullptr ? nullptr : &Scoped<kMembers>::call), ...);
}

void scope_calls() noexcept {
  scope<&Driver::primary_retain, &Driver::primary_release, &Driver::context_enable_peer, &Driver::memory_allocate,
        &Driver::memory_free, &Driver::copy_async, &Driver::copy_pitched_async, &Driver::copy_peer_async,
        &Driver::stream_create, &Driver::stream_destroy, &Driver::stream_synchronize, &Driver::event_create,
        &Driver::event_destroy, &Driver::event_query, &Driver::stream_query, &Driver::host_allocate, &Driver::host_free,
        &Driver::host_register, &Driver::host_unregister, &Driver::ipc_get_handle, &Driver::ipc_open_handle,
        &Driver::ipc_close_handle, &Driver::module_load, &Driver::module_unload, &Driver::module_function,
        &Driver::launch, &Driver::chunk_retain, &Driver::chunk_export, &Driver::chunk_import, &Driver::chunk_release,
        &Driver::address_reserve, &Driver::address_free, &Driver::chunk_map, &Driver::chunk_unmap, &Driver::set_access,
        &Driver::stream_write_value>();
}

bool open_driver() {
  if (knobs().cuda == CudaChoice::kOff) return false;
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    log::write(log::Level::kDecision, "no CUDA driver: %s", ::dlerror());
    return false;
  }
  const char* missing = nullptr;
#define HR_CUDA_LOAD(member, symbol, parameters)                                      \
  table.member = reinterpret_cast<decltype(table.member)>(::dlsym(library, #symbol)); \
  if (table.member == nullptr) missing = #symbol;
  HR_CUDA_FUNCTIONS(HR_CUDA_LOAD)
  const char* const needed = missing;
  HR_CUDA_CHUNK_FUNCTIONS(HR_CUDA_LOAD)
  table.has_chunks = missing == needed;
#undef HR_CUDA_LOAD
  table.context_id = reinterpret_cast<decltype(table.context_id)>(::dlsym(library, "cuCtxGetId"));
  table.stream_write_value =
      reinterpret_cast<decltype(table.stream_write_value)>(::dlsym(library, "cuStreamWriteValue32_v2"));
  const auto optional = [library](auto* member, const char* symbol) {
    *member = reinterpret_cast<std::remove_pointer_t<decltype(member)>>(::dlsym(library, symbol));
  };
  optional(&table.stream_wait_value, "cuStreamWaitValue32_v2");
  optional(&table.stream_batch, "cuStreamBatchMemOp_v2");
  optional(&table.stream_context, "cuStreamGetCtx");
  optional(&table.stream_begin_capture, "cuStreamBeginCapture_v2");
  optional(&table.stream_end_capture, "cuStreamEndCapture");
  optional(&table.graph_destroy, "cuGraphDestroy");
  optional(&table.module_function_count, "cuModuleGetFunctionCount");
  optional(&table.module_functions, "cuModuleEnumerateFunctions");
  optional(&table.function_load, "cuFuncLoad");
  table.stream_is_capturing =
      reinterpret_cast<decltype(table.stream_is_capturing)>(::dlsym(library, "cuStreamIsCapturing"));
  table.exchange_capture_mode =
      reinterpret_cast<decltype(table.exchange_capture_mode)>(::dlsym(library, "cuThreadExchangeStreamCaptureMode"));
  if (needed != nullptr) {
    log::write(log::Level::kError, "the CUDA driver (libcuda.so.1) lacks %s: it is older than 11.2 and is not used",
               needed);
    return false;
  }
  scope_calls();
  return true;
}

}  // namespace

const Driver* find_driver() {
  if (!searched) [[unlikely]] {
    found = open_driver();
    searched = true;
    detail::maybe_cuda = found;
  }
  return found ? &table : nullptr;
}

const Driver& driver() noexcept { return table; }

bool default_stream_barred() noexcept {
  int status = 0;
  return table.stream_is_capturing != nullptr &&
         table.stream_is_capturing(legacy_stream(), &status) == kStreamCaptureImplicit;
}

ErrorText error_text(Result result) noexcept {
  ErrorText text;
  if (table.get_error_name != nullptr) {
    (void)table.get_error_name(result, &text.name);
    (void)table.get_error_string(result, &text.text);
  }
  return text;
}

Status report(Result result, const char* call, int device, const char* format, ...) {
  if (result == kSuccess) return kOk;
  char what[256];
  std::va_list args;
  va_start(args, format);
  std::vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const ErrorText error = error_text(result);
  const bool capture = result >= kFirstCaptureError && result <= kLastCaptureError;
  return fail(result == kOutOfMemory ? Errc::kNoMem : Errc::kOther, "%s on CUDA device %d failed: %s (%s)%s; %s",
              symbol_of(call), device, error.name, error.text,
              capture ? ", as the program is capturing a stream: call MPI before or after the capture" : "", what);
}

}  // namespace hr::mem::cuda
