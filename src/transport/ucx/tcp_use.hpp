// Whether UCX may use TCP, over which it authenticates nobody: by default only on the loopback interface, on hosts
// without RDMA, or if the user has chosen UCX (HEADRACE_NETWORK=ucx). UCX_TLS takes precedence.
//
// Threads: library lock.
#pragma once

#include <string>
#include <string_view>

namespace hr::transport::ucx {

// The devices that UCX may use, in the notation of UCX_NET_DEVICES; empty: all. `loopback_alone`: no process on another
// machine will be connected.
[[nodiscard]] std::string devices_of_ucx(bool loopback_alone);
// Value of UCX_TLS, unless the user has set it.
[[nodiscard]] const char* paths_of_ucx(bool loopback_alone);
// True if UCX may listen on TCP outside the loopback interface.
[[nodiscard]] bool may_use_tcp_outside(bool loopback_alone);
// The same for given values of UCX_TLS and UCX_NET_DEVICES (empty: all).
[[nodiscard]] bool may_use_tcp_outside(std::string_view paths, std::string_view devices);
// Returns the sentence that an error about a missing network ends with; empty if TCP was not excluded.
[[nodiscard]] std::string advice_without_tcp(bool loopback_alone);

}  // namespace hr::transport::ucx
