#include "mem/device/costs.hpp"

#include <cstdint>
#include <cstdio>
#include <fstream>

#include "mem/device.hpp"
#include "mem/device/device_links.hpp"

namespace hr::mem::device {
namespace {

// Parts of the peak rates that copies reach.
constexpr double kOfLink = 0.8;
constexpr double kOfMemory = 0.3;  // a copy reads and writes each byte
// A vendor's own links between devices have at least this many times the rate of PCI Express of their generation.
// A copy between devices is the shortest path without such links, too, so an exact rate is not needed.
constexpr double kPeerLinks = 3;

Costs known;

double memory_rate(int device) noexcept {
  int kilohertz = 0, bits = 0;
  if (driver().device_get_attribute(&kilohertz, kDeviceMemoryClock, device) != kSuccess) return 0;
  if (driver().device_get_attribute(&bits, kDeviceMemoryWidth, device) != kSuccess) return 0;
  return 2.0 * kilohertz * 1e3 * bits / 8;  // two transfers per clock
}

std::string pci_directory(int device) {
  const std::uint64_t id = pci_bus_id_of(device);
  char name[64];
  std::snprintf(name, sizeof name, "/sys/bus/pci/devices/%04x:%02x:%02x.0", static_cast<unsigned>(id >> 16),
                static_cast<unsigned>(id >> 8 & 0xff), static_cast<unsigned>(id & 0xff));
  return name;
}

}  // namespace

Costs costs_of(const Properties& properties) noexcept {
  Costs costs;
  if (properties.link_bytes_per_second > 0) {
    costs.pinned_bytes_per_second = kOfLink * properties.link_bytes_per_second;
    costs.peer_bytes_per_second = kPeerLinks * costs.pinned_bytes_per_second;
  }
  if (properties.memory_bytes_per_second > 0) {
    costs.device_bytes_per_second = kOfMemory * properties.memory_bytes_per_second;
  }
  return costs;
}

double pci_link_rate(const std::string& directory) {
  unsigned kind = 0, lanes = 0;
  double transfers = 0;  // 10^9 per second and lane
  if (!(std::ifstream(directory + "/class") >> std::hex >> kind)) return 0;
  if (constexpr unsigned kDisplay = 0x03, kAccelerator = 0x12; kind >> 16 != kDisplay && kind >> 16 != kAccelerator)
    return 0;
  if (!(std::ifstream(directory + "/max_link_speed") >> transfers)) return 0;
  if (!(std::ifstream(directory + "/max_link_width") >> lanes)) return 0;
  constexpr double kEarly = 5;         // up to this rate, 10 bits carry 8; later, 130 carry 128
  constexpr unsigned kMostLanes = 32;  // a link that is not connected reports more
  if (lanes > kMostLanes) return 0;
  return transfers * 1e9 * lanes / 8 * (transfers > kEarly ? 128.0 / 130 : 0.8);
}

const Costs& costs() noexcept { return known; }

void set_costs(int device) { known = costs_of({memory_rate(device), pci_link_rate(pci_directory(device))}); }

}  // namespace hr::mem::device
