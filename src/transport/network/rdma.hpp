// The RDMA devices of this host: adapters for InfiniBand, RoCE, EFA and Omni-Path. Threads: any.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hr::transport::network {

// Returns the names of the devices with at least one active port. `directory` is laid out like /sys/class/infiniband.
// An adapter without an active port is connected to no network.
[[nodiscard]] std::vector<std::string> active_rdma_devices(const std::filesystem::path& directory);
// The same for this host; its devices are determined on the first call.
[[nodiscard]] const std::vector<std::string>& active_rdma_devices();

// Returns "this host has NAME, NAME"; empty if there are no names.
[[nodiscard]] std::string this_host_has(const std::vector<std::string>& names);

}  // namespace hr::transport::network
