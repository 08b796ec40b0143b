#include "mem/device/device_links.hpp"

#include "base/fnv.hpp"
#include "mem/device.hpp"

namespace hr::mem::device {
namespace {

// The identity alone: whether processes are time-sliced on the device does not matter here.
constexpr std::uint64_t kIdentity = (std::uint64_t{1} << 63) - 1;
constexpr int kBusIdBits = 48;  // 32 for the domain

}  // namespace

std::uint64_t pci_bus_id_of(int device) noexcept {
  int domain = 0, bus = 0, device_number = 0;
  (void)driver().device_get_attribute(&domain, kDevicePciDomain, device);
  (void)driver().device_get_attribute(&bus, kDevicePciBus, device);
  (void)driver().device_get_attribute(&device_number, kDevicePciDevice, device);
  return (static_cast<std::uint64_t>(domain) << 16) | (static_cast<std::uint64_t>(bus) << 8) |
         static_cast<std::uint64_t>(device_number);
}

std::uint64_t identity_of(int device) noexcept {
  Uuid uuid{};
  std::uint64_t mixed = 0;
  if (driver().device_uuid != nullptr && driver().device_uuid(&uuid, device) == kSuccess) mixed = fnv1a(uuid.bytes);
  return (mixed << kBusIdBits & kIdentity) | pci_bus_id_of(device);
}

bool has_atomics(const Context& context, std::uint64_t locality) noexcept {
  const std::uint64_t wanted = locality & kIdentity;
  if ((context.locality() & kIdentity) == wanted) return true;
  int devices = 0;
  if (driver().peer_attribute == nullptr || driver().device_get_count(&devices) != kSuccess) return false;
  for (int device = 0; device < devices; ++device) {
    if (identity_of(device) != wanted) continue;
    int able = 0;
    return driver().peer_attribute(&able, kPeerHasAtomics, context.device(), device) == kSuccess && able != 0;
  }
  return false;
}

}  // namespace hr::mem::device
