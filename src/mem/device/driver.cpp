#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <vector>

#include "base/log.hpp"
#include "mem/device.hpp"
#include "mem/device/maker_list.hpp"
#include "mem/mem.hpp"

namespace hr::mem::device {
namespace {

Driver table;
Driver bare;  // the same functions without CaptureScope
bool searched = false;
bool found = false;

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

// Wraps the given members in a CaptureScope. Calls that only enqueue work on the library's streams or order it, and
// queries about pointers and contexts, do not need it.
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
        &Driver::launch, &Driver::chunk_export, &Driver::chunk_import, &Driver::chunk_release, &Driver::address_reserve,
        &Driver::address_free, &Driver::chunk_map, &Driver::chunk_unmap, &Driver::set_access,
        &Driver::stream_write_value, &Driver::word_allocate>();
}

bool has_devices(const Driver& driver) {
  int devices = 0;
  return driver.init(0) == kSuccess && driver.device_get_count(&devices) == kSuccess && devices > 0;
}

// A single driver is used without querying its devices, which would start it.
bool open_driver() {
  std::vector<Driver> open;
  for (const Maker* const maker : makers()) {
    Driver made;
    if (!maker->open(&made)) continue;
    made.support = maker->support;
    open.push_back(made);
  }
  if (open.empty()) return false;
  const auto chosen = open.size() == 1 ? open.begin() : std::find_if(open.begin(), open.end(), has_devices);
  table = chosen == open.end() ? open.front() : *chosen;
  if (open.size() > 1) {
    log::write(log::Level::kDecision, "drivers of several makers are here: memory of %s devices is recognised",
               table.names.maker);
  }
  scope_calls();
  return true;
}

}  // namespace

const Driver* find_driver() {
  if (!searched) [[unlikely]] {
    found = open_driver();
    searched = true;
    detail::maybe_device = found;
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
  return fail(result == kOutOfMemory ? Errc::kNoMem : Errc::kOther, "%s on %s device %d failed: %s (%s)%s; %s",
              table.symbol_of(call), table.names.maker, device, error.name, error.text,
              capture ? ", as the program is capturing a stream: call MPI before or after the capture" : "", what);
}

}  // namespace hr::mem::device
