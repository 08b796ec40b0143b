#include "mem/cuda/driver.hpp"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "mem/mem.hpp"

namespace hr::mem::cuda {
namespace {

Driver table;
bool searched = false;
bool found = false;

// The driver's own name of a member of Driver, for error texts.
const char* symbol_of(const char* member) noexcept {
#define HR_CUDA_SYMBOL(name, symbol, parameters) \
  if (std::strcmp(member, #name) == 0) return #symbol;
  HR_CUDA_FUNCTIONS(HR_CUDA_SYMBOL)
  HR_CUDA_CHUNK_FUNCTIONS(HR_CUDA_SYMBOL)
#undef HR_CUDA_SYMBOL
  return member;
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
  if (needed != nullptr) {
    log::write(log::Level::kError, "the CUDA driver (libcuda.so.1) lacks %s: it is older than 11.2 and is not used",
               needed);
    return false;
  }
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
  return fail(result == kOutOfMemory ? Errc::kNoMem : Errc::kOther, "%s on CUDA device %d failed: %s (%s); %s",
              symbol_of(call), device, error.name, error.text, what);
}

}  // namespace hr::mem::cuda
