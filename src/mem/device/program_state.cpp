#include "mem/device/program_state.hpp"

#include "mem/device.hpp"

namespace hr::mem::device {

int current_device() {
  const Driver* driver = find_driver();
  ContextHandle context = nullptr;
  int device = -1;
  if (driver == nullptr || driver->context_current(&context) != kSuccess || context == nullptr) return -1;
  return driver->context_device(&device) == kSuccess ? device : -1;
}

bool context_exists(int device) {
  const Driver* driver = find_driver();
  unsigned flags = 0;
  int active = 0;
  if (driver == nullptr || device < 0) return false;
  if (!driver->always_current && current_device() == device) return true;
  return driver->primary_state(device, &flags, &active) == kSuccess && active != 0;
}

int first_device_in_use() {
  const int current = current_device();
  if (current >= 0 && !driver().always_current) return current;
  for (int device = 0; device < devices_seen(); ++device) {
    if (context_exists(device)) return device;
  }
  return -1;
}

int devices_seen() {
  const Driver* driver = find_driver();
  int devices = 0;
  return driver != nullptr && driver->device_get_count(&devices) == kSuccess ? devices : 0;
}

}  // namespace hr::mem::device
