// Costs of device operations, for the models that choose among data paths (p2p/protocol/rendezvous.hpp). The costs do
// not depend on the transport.
//
// The costs of server devices serve for all makers. Constant. Threads: any.
#pragma once

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

inline constexpr Costs kCosts{};
[[nodiscard]] constexpr const Costs& costs() noexcept { return kCosts; }

}  // namespace hr::mem::device
