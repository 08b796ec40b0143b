#include "transport/network/rdma.hpp"

#include <algorithm>
#include <fstream>
#include <string_view>

namespace hr::transport::network {
namespace {

constexpr std::string_view kActive = "4:";  // "4: ACTIVE"; the kernel prints the number of each state

bool is_active(const std::filesystem::path& port) {
  std::ifstream file(port / "state");
  std::string state;
  return std::getline(file, state) && state.starts_with(kActive);
}

// Returns the entries of a directory; none if it cannot be read.
std::vector<std::filesystem::path> entries(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory, none)) found.push_back(entry.path());
  return found;
}

}  // namespace

std::vector<std::string> active_rdma_devices(const std::filesystem::path& directory) {
  std::vector<std::string> active;
  for (const auto& device : entries(directory)) {
    if (std::ranges::any_of(entries(device / "ports"), is_active)) active.push_back(device.filename().string());
  }
  std::ranges::sort(active);
  return active;
}

const std::vector<std::string>& active_rdma_devices() {
  static const std::vector<std::string> active = active_rdma_devices("/sys/class/infiniband");
  return active;
}

std::string this_host_has(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "this host has " : ", ") + name;
  return text;
}

}  // namespace hr::transport::network
