#include "mem/mem.hpp"

#include "mem/device.hpp"
#include "mem/device/context.hpp"
#include "mem/device/ipc.hpp"
#include "mem/state.hpp"

namespace hr::mem {

Status check_range(const void* address, std::size_t bytes, const Location& location) {
  if (!location.is_device() || bytes == 0) return kOk;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const auto outside = [&](const char* why) {
    return fail(Errc::kBuffer, "buffer %p, %zu bytes: %s its allocation of %zu bytes at %#zx on device %d", address,
                bytes, why, location.bytes, static_cast<std::size_t>(location.base), static_cast<int>(location.device));
  };
  const auto mapped = [](std::uintptr_t at) {
    int answer = 0;
    return device::driver().pointer_get_attribute(&answer, device::kAttributeMapped, at) == device::kSuccess &&
           answer != 0;
  };
  const std::uintptr_t end = location.base + location.bytes;
  if (location.bytes != 0 && (begin < location.base || bytes > end - begin)) {
    // The range that the driver reports may be one of several adjacent chunks (VMM).
    const bool goes_on = location.context == nullptr &&
                         (begin >= location.base || (mapped(location.base - 1) && mapped(begin))) &&
                         (bytes <= end - begin || (mapped(end) && mapped(begin + bytes - 1)));
    if (!goes_on) return outside("leaves");
  }
  if (location.context == nullptr) {
    // A reserved range (VMM) may be only partly mapped, so the last byte must be backed by memory, too.
    int last = 1;
    const device::Result result =
        device::driver().pointer_get_attribute(&last, device::kAttributeMapped, begin + bytes - 1);
    if (result == device::kSuccess && last == 0) return outside("ends in an unmapped part of");
  }
  return kOk;
}

void set_export_hooks(void (*begin)(), void (*revoke)(int process, std::uint64_t allocation),
                      void (*refuse)(int process, Unmappable what)) {
  device::set_export_hooks({begin, revoke, refuse});
}
void sweep_exports() { device::sweep_exports(); }
bool any_exports() noexcept { return device::any_exports(); }
void forget_peer_memory(int process, std::uint64_t allocation) noexcept { device::revoke_import(process, allocation); }
void hide_memory_from(int process, Unmappable what) { device::hide_from(process, what); }

State& detail::make_state() {
  current_state = std::make_unique<State>();
  return *current_state;
}

void init() {
  static_cast<void>(state());
  static_cast<void>(device::find_driver());
}

bool device_available() {
  const device::Driver* driver = device::find_driver();
  int devices = 0;
  return driver != nullptr && driver->init(0) == device::kSuccess &&
         driver->device_get_count(&devices) == device::kSuccess && devices > 0;
}

bool device_available(int support) {
  const device::Driver* driver = device::find_driver();
  return driver != nullptr && driver->support == support && device_available();
}

void shutdown() {
  if (detail::current_state == nullptr) return;
  device::release_contexts();
  detail::current_state.reset();
}

}  // namespace hr::mem
