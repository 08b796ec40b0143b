#include "base/machine.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace hr {
namespace {

// Returns the value of the first line "<name>[ \t]*: value" near the beginning of a file. The kernel generates only the
// part that is read, which matters with hundreds of CPUs.
std::string first_value(const std::string& path, std::string_view name) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return {};
  char text[4096];
  const ssize_t count = ::read(descriptor, text, sizeof text);
  ::close(descriptor);
  std::string_view rest(text, count > 0 ? static_cast<std::size_t>(count) : 0);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with(name)) continue;
    const auto colon = line.find(':');
    const auto first = line.find_first_not_of(" \t", colon == std::string_view::npos ? colon : colon + 1);
    return first == std::string_view::npos ? std::string() : std::string(line.substr(first));
  }
  return {};
}

std::vector<std::string> gpu_models() {
  std::vector<std::string> models;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    models.push_back(first_value(entry.path() / "information", "Model"));
  }
  std::sort(models.begin(), models.end());
  return models;
}

}  // namespace

Machine this_machine() {
  return {first_value("/proc/cpuinfo", "model name"), static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)), gpu_models()};
}

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  return name;
}

bool is_amd() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

std::string describe(const Machine& machine) {
  std::string text =
      (machine.cpu.empty() ? "unknown CPU" : machine.cpu) + ", " + std::to_string(machine.cpus) + " CPUs";
  for (auto model = machine.gpus.begin(); model != machine.gpus.end();) {
    const auto next =
        std::find_if(model, machine.gpus.end(), [&](const std::string& other) { return other != *model; });
    text += ", " + std::to_string(next - model) + " x " + *model;
    model = next;
  }
  return text;
}

}  // namespace hr
