// The adapters of this host that programs use without the kernel: for InfiniBand, RoCE, EFA, Omni-Path and Slingshot.
//
// Programs reach an adapter through a device file. Containers often show the adapters of the host in /sys, and have no
// device files. Threads: any.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace hr::transport::network {

struct RdmaDevices {
  std::vector<std::string> rdma;  // names in /sys/class/infiniband; those with at least one active port
  std::vector<std::string> cxi;   // names in /sys/class/cxi
  // Why this process cannot use a further adapter ("... cannot be opened: No such file or directory"); empty if there
  // is none.
  std::string unusable;
};

// Returns the adapters that this process can use. An RDMA adapter without an active port is connected to no network.
// `classes` is laid out like /sys/class, `files` like /dev.
[[nodiscard]] RdmaDevices find_rdma_devices(const std::filesystem::path& classes, const std::filesystem::path& files);
// The same for this host; its adapters are determined on the first call.
[[nodiscard]] const RdmaDevices& rdma_devices();

// Returns "this host has NAME, NAME"; empty if there are no names.
[[nodiscard]] std::string this_host_has(const std::vector<std::string>& names);

}  // namespace hr::transport::network
