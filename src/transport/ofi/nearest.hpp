// Chooses among network cards: a process uses one that is near the CPUs on which it may run. Processes to which several
// cards are equally near use them in turns.
//
// Owner: plain values. Threads: any. Reads a small file for each card.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "topo/cpu_set.hpp"

namespace hr::transport::ofi {

inline constexpr const char* kBusDevices = "/sys/bus/pci/devices";

// Returns the indices of `cards` in the order in which this process should try them. Entries of one card stay in their
// order. `cards`: addresses on the PCI bus ("0000:41:00.0"); `cpus`: the CPUs of this process, empty if unknown;
// `turn`: the number of this process among those of its host; `directory`: has the structure of kBusDevices.
[[nodiscard]] std::vector<std::size_t> nearest_first(std::span<const std::string> cards, const topo::CpuSet& cpus,
                                                     std::size_t turn, const std::string& directory = kBusDevices);

}  // namespace hr::transport::ofi
