// Costs of device operations, for the models that choose among data paths (p2p/protocol/rendezvous.hpp). The costs do
// not depend on the transport.
//
// The rates follow from the device's properties: its memory's clock and width, and its PCI Express link. Latencies are
// the driver's, and about the same for all devices. Owner: this file; set when the first Context is made, since models
// compare paths for the device that a process uses. Threads: library lock.
#pragma once

#include <string>

namespace hr::mem::device {

struct Costs {
  double copy_seconds = 10e-6;  // one copy or kernel on a device, until its completion is noticed
  // Copies between device memory and pinned host memory, and two such copies that overlap piecewise.
  double pinned_bytes_per_second = 50e9;
  double pinned_seconds = 18e-6;
  double peer_bytes_per_second = 150e9;     // copies between the memory of two devices
  double device_bytes_per_second = 1.4e12;  // copies within a device
  double switch_seconds = 150e-6;  // time until a time-sliced device (docs/adr/0020-time-sliced-gpu.md) has switched to
                                   // a process with work for its multiprocessors
  double piece_seconds = 20e-6;    // a blocking copy of a short piece
};

// Properties that determine the rates. 0: unknown; the rates of a server device apply then.
struct Properties {
  double memory_bytes_per_second = 0;  // peak, reads and writes together
  double link_bytes_per_second = 0;    // peak of the link to the host, in one direction
};
[[nodiscard]] Costs costs_of(const Properties& properties) noexcept;

// Returns the peak rate of the PCI device in that directory of sysfs, in bytes per second; 0 if it is unknown, or if
// the device is not a display controller or an accelerator.
[[nodiscard]] double pci_link_rate(const std::string& directory);

// Returns the costs for the device that set_costs() named, or of a server device.
[[nodiscard]] const Costs& costs() noexcept;
void set_costs(int device);

}  // namespace hr::mem::device
