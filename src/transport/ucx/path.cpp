#include "transport/ucx/path.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "transport/network/buffers.hpp"
#include "transport/network/eager.hpp"

namespace hr::transport::ucx {
namespace {

constexpr std::size_t kShort = 8;
constexpr std::size_t kLong = std::size_t{1} << 20;

std::optional<double> seconds(const Library& library, ucp_ep_h endpoint, std::size_t bytes) {
  ucp_ep_evaluate_perf_param_t asked{};
  asked.field_mask = UCP_EP_PERF_PARAM_FIELD_MESSAGE_SIZE;
  asked.message_size = bytes;
  ucp_ep_evaluate_perf_attr_t answer{};
  answer.field_mask = UCP_EP_PERF_ATTR_FIELD_ESTIMATED_TIME;
  if (library.ep_evaluate_perf == nullptr) return std::nullopt;
  if (library.ep_evaluate_perf(endpoint, &asked, &answer) != UCS_OK || !(answer.estimated_time > 0))
    return std::nullopt;
  return answer.estimated_time;
}

}  // namespace

std::size_t Path::eager_bytes() const noexcept {
  return network::eager_bytes(tuned_eager_bytes, latency_seconds, network::kMostEager);
}

Path path_of(const Library& library, ucp_ep_h endpoint) {
  Path path;
  const auto latency = seconds(library, endpoint, kShort);
  const auto whole = seconds(library, endpoint, kLong);
  if (latency) path.latency_seconds = *latency;
  const std::string transports = transports_of(library, endpoint);
  path.is_stream = transports.starts_with("tcp");
  path.moves_memory = moves_memory(transports);
  if (latency && whole && *whole > *latency) path.bytes_per_second = static_cast<double>(kLong) / (*whole - *latency);
  return path;
}

// UCX emulates put and get by messages on its other networks (TCP, InfiniBand's unreliable datagrams).
bool moves_memory(std::string_view transports) {
  for (std::string_view rest = transports; !rest.empty();) {
    if (rest.starts_with("rc") || rest.starts_with("dc")) return true;
    const std::size_t comma = rest.find(", ");
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 2);
  }
  return false;
}

std::string transports_of(const Library& library, ucp_ep_h endpoint) {
  std::string text;
  if (library.ep_query == nullptr) return text;
  std::array<ucp_transport_entry_t, 16> entries{};
  ucp_ep_attr_t attributes{};
  attributes.field_mask = UCP_EP_ATTR_FIELD_TRANSPORTS;
  attributes.transports.entries = entries.data();
  attributes.transports.num_entries = entries.size();
  attributes.transports.entry_size = sizeof entries[0];
  if (library.ep_query(endpoint, &attributes) != UCS_OK) return text;
  std::set<std::string> seen;
  for (unsigned i = 0; i < std::min<std::size_t>(attributes.transports.num_entries, entries.size()); ++i) {
    if (entries[i].transport_name == nullptr) continue;
    std::string name = entries[i].transport_name;
    if (entries[i].device_name != nullptr) name += "/" + std::string(entries[i].device_name);
    if (seen.insert(name).second) text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace hr::transport::ucx
