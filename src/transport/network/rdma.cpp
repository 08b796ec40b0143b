#include "transport/network/rdma.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

namespace hr::transport::network {
namespace {

using Path = std::filesystem::path;

constexpr std::string_view kActive = "4:";  // "4: ACTIVE"; the kernel prints the number of each state

// Returns the first line of a file; empty if it cannot be read.
std::string line_of(const Path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the entries of a directory in order; none if it cannot be read.
std::vector<Path> entries(const Path& directory) {
  std::vector<Path> found;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(directory, none)) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

bool has_active_port(const Path& device) {
  return std::ranges::any_of(entries(device / "ports"),
                             [](const Path& port) { return line_of(port / "state").starts_with(kActive); });
}

// Returns the device file of an RDMA adapter: its own one for Omni-Path, else that of the verbs; empty if there is
// none.
Path file_of(const std::string& name, const Path& classes, const Path& files) {
  if (name.starts_with("hfi1")) return files / name;
  for (const Path& each : entries(classes / "infiniband_verbs")) {
    if (line_of(each / "ibdev") == name) return files / "infiniband" / each.filename();
  }
  return {};
}

// Returns why the file cannot be opened; empty if it can. Permissions do not tell: the device controller of a container
// may refuse what they allow.
std::string why_not(const Path& file) {
  if (file.empty()) return "there is no device file for it in /sys/class/infiniband_verbs";
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return file.string() + " cannot be opened: " + std::strerror(errno);
  ::close(descriptor);
  return "";
}

}  // namespace

RdmaDevices find_rdma_devices(const Path& classes, const Path& files) {
  RdmaDevices found;
  const auto add = [&found](std::string name, const Path& file, std::vector<std::string>* to) {
    const std::string why = why_not(file);
    if (why.empty()) {
      to->push_back(std::move(name));
    } else if (found.unusable.empty()) {
      found.unusable = name + " cannot be used: " + why;
    }
  };
  for (const Path& device : entries(classes / "cxi")) {
    if (std::string name = device.filename().string(); name.starts_with("cxi")) add(name, files / name, &found.cxi);
  }
  for (const Path& device : entries(classes / "infiniband")) {
    if (!has_active_port(device)) continue;
    const std::string name = device.filename().string();
    add(name, file_of(name, classes, files), &found.rdma);
  }
  return found;
}

const RdmaDevices& rdma_devices() {
  static const RdmaDevices found = find_rdma_devices("/sys/class", "/dev");
  return found;
}

std::string this_host_has(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "this host has " : ", ") + name;
  return text;
}

}  // namespace hr::transport::network
