#include "transport/ucx/tcp_use.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/knobs.hpp"
#include "transport/network/rdma.hpp"
#include "transport/ucx/library.hpp"
#include "transport/ucx/maker_names.hpp"

namespace hr::transport::ucx {
namespace {

constexpr std::string_view kLoopback = "lo";

std::vector<std::string_view> words(std::string_view list) {
  std::vector<std::string_view> found;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma != 0) found.push_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return found;
}

bool leaves_tcp(bool loopback_alone) {
  return devices_of_ucx(loopback_alone) == kLoopback || !host_has_rdma() || knobs().network == NetworkChoice::kUcx;
}

}  // namespace

std::string devices_of_ucx(bool loopback_alone) {
  if (const char* const own = environment("UCX_NET_DEVICES"); own != nullptr) return own;
  if (const std::string& chosen = knobs().network_devices; !chosen.empty()) return chosen;
  return loopback_alone ? std::string(kLoopback) : std::string();
}

const char* paths_of_ucx(bool loopback_alone) {
  return leaves_tcp(loopback_alone) ? kNetworkPaths : kNetworkPathsWithoutTcp;
}

bool may_use_tcp_outside(std::string_view paths, std::string_view devices) {
  const bool excludes = paths.starts_with('^');
  const bool names_tcp = std::ranges::any_of(words(paths.substr(excludes ? 1 : 0)),
                                             [](std::string_view path) { return path == "tcp" || path == "all"; });
  // Devices with a port number ("mlx5_0:1") are RDMA devices.
  const auto is_outside = [](std::string_view device) {
    return device != kLoopback && device.find(':') == std::string_view::npos;
  };
  return names_tcp != excludes && (devices.empty() || std::ranges::any_of(words(devices), is_outside));
}

bool may_use_tcp_outside(bool loopback_alone) {
  const char* const own = environment("UCX_TLS");
  return may_use_tcp_outside(own != nullptr ? own : paths_of_ucx(loopback_alone), devices_of_ucx(loopback_alone));
}

std::string advice_without_tcp(bool loopback_alone) {
  if (environment("UCX_TLS") != nullptr || leaves_tcp(loopback_alone)) return "";
  return "; on this host, which has " + network::rdma_devices().rdma.front() +
         ", UCX may not use TCP: HEADRACE_NETWORK=tcp uses TCP without UCX, and HEADRACE_NETWORK=ucx lets UCX use TCP, "
         "over which it authenticates nobody";
}

}  // namespace hr::transport::ucx
