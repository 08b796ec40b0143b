#include "mem/cuda/device_links.hpp"

#include <dlfcn.h>

#include "mem/cuda/driver.hpp"

namespace hr::mem::cuda {
namespace {

constexpr int kNativeAtomics = 3;
// The bus id alone: whether processes take turns on the device does not matter here.
constexpr std::uint64_t kBusId = (std::uint64_t{1} << 63) - 1;

using Attribute = Result (*)(int* value, int attribute, int device, int peer);

// Of the driver, which has been opened.
Attribute find_attribute() noexcept {
  void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  const auto found = reinterpret_cast<Attribute>(::dlsym(library, "cuDeviceGetP2PAttribute"));
  ::dlclose(library);
  return found;
}

}  // namespace

std::uint64_t pci_bus_id_of(int device) noexcept {
  int domain = 0, bus = 0, device_number = 0;
  (void)driver().device_get_attribute(&domain, kDevicePciDomain, device);
  (void)driver().device_get_attribute(&bus, kDevicePciBus, device);
  (void)driver().device_get_attribute(&device_number, kDevicePciDevice, device);
  return (static_cast<std::uint64_t>(domain) << 16) | (static_cast<std::uint64_t>(bus) << 8) |
         static_cast<std::uint64_t>(device_number);
}

bool has_atomics(const Context& context, std::uint64_t locality) noexcept {
  const std::uint64_t wanted = locality & kBusId;
  if ((context.locality() & kBusId) == wanted) return true;
  static const Attribute attribute = find_attribute();
  int devices = 0;
  if (attribute == nullptr || driver().device_get_count(&devices) != kSuccess) return false;
  for (int device = 0; device < devices; ++device) {
    if (pci_bus_id_of(device) != wanted) continue;
    int able = 0;
    return attribute(&able, kNativeAtomics, context.device(), device) == kSuccess && able != 0;
  }
  return false;
}

}  // namespace hr::mem::cuda
