#include "topo/devices.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

namespace hr::topo {
namespace {

// True if a part of this level contains both sets.
bool in_one(const Machine& machine, Level level, const CpuSet& one, const CpuSet& other) {
  const std::vector<CpuSet>& parts = machine.all(level);
  return std::any_of(parts.begin(), parts.end(),
                     [&](const CpuSet& part) { return holds(part, one) && holds(part, other); });
}

Distance distance(const Machine& machine, const CpuSet& one, const CpuSet& other) {
  if (one.empty() || other.empty()) return Distance::kMachine;
  if (in_one(machine, Level::kNuma, one, other)) return Distance::kNuma;
  if (in_one(machine, Level::kSocket, one, other)) return Distance::kSocket;
  return Distance::kMachine;
}

// Selects the devices that are nearest by `key`; equally near ones are selected in turn.
class Turns {
 public:
  explicit Turns(std::vector<const Device*> devices) : devices_(std::move(devices)), used_(devices_.size()) {}

  template <class Key>
  const Device* next(Key key) {
    if (devices_.empty()) return nullptr;
    std::size_t best = 0;
    for (std::size_t at = 1; at < devices_.size(); ++at) {
      if (std::tuple(key(*devices_[at]), used_[at]) < std::tuple(key(*devices_[best]), used_[best])) best = at;
    }
    ++used_[best];
    return devices_[best];
  }

 private:
  std::vector<const Device*> devices_;
  std::vector<int> used_;
};

std::vector<const Device*> gpus_of(const Machine& machine) {
  std::vector<const Device*> found;
  for (const Device& device : machine.devices) {
    if (device.kind == Device::Kind::kGpu) found.push_back(&device);
  }
  return found;
}

std::vector<const Device*> cards_of(const Machine& machine) {
  const bool any_fast =
      std::any_of(machine.devices.begin(), machine.devices.end(), std::mem_fn(&Device::is_fast_network));
  std::vector<const Device*> found;
  for (const Device& device : machine.devices) {
    if (device.kind == Device::Kind::kNic && (device.is_fast_network || !any_fast)) found.push_back(&device);
  }
  return found;
}

}  // namespace

const char* text_of(Distance distance) noexcept {
  switch (distance) {
    case Distance::kSwitch:
      return "same PCI switch";
    case Distance::kHostBridge:
      return "same PCI host bridge";
    case Distance::kNuma:
      return "same NUMA domain";
    case Distance::kSocket:
      return "same socket";
    case Distance::kMachine:
      break;
  }
  return "across sockets";
}

Distance distance(const Machine& machine, const CpuSet& cpus, const Device& device) {
  return distance(machine, cpus, device.cpus);
}

Distance distance(const Machine& machine, const Device& one, const Device& other) {
  const auto shared = std::mismatch(one.bridges.begin(), one.bridges.end(), other.bridges.begin(), other.bridges.end());
  const auto bridges = shared.first - one.bridges.begin();
  // The first bridge is the host bridge.
  if (bridges > 1) return Distance::kSwitch;
  if (bridges == 1) return Distance::kHostBridge;
  return distance(machine, one.cpus, other.cpus);
}

std::string text_of(const Nearest& nearest) {
  const auto text = [](const char* kind, const Device* device, Distance how) {
    return device == nullptr ? "" : std::string(kind) + device->name + " (" + text_of(how) + ")";
  };
  const std::string gpu = text("; GPU ", nearest.gpu, nearest.gpu_distance);
  return gpu + text(gpu.empty() ? "; NIC " : ", NIC ", nearest.nic, nearest.nic_distance);
}

std::vector<Nearest> nearest_devices(const Machine& machine, const std::vector<CpuSet>& placement) {
  Turns gpus(gpus_of(machine)), cards(cards_of(machine));
  std::vector<Nearest> all;
  for (const CpuSet& cpus : placement) {
    Nearest nearest;
    if (!cpus.empty()) {
      nearest.gpu = gpus.next([&](const Device& gpu) { return distance(machine, cpus, gpu); });
      nearest.nic = cards.next([&](const Device& card) {
        return std::pair(distance(machine, cpus, card),
                         nearest.gpu != nullptr ? distance(machine, *nearest.gpu, card) : Distance::kMachine);
      });
      if (nearest.gpu != nullptr) nearest.gpu_distance = distance(machine, cpus, *nearest.gpu);
      if (nearest.nic != nullptr) nearest.nic_distance = distance(machine, cpus, *nearest.nic);
    }
    all.push_back(nearest);
  }
  return all;
}

}  // namespace hr::topo
