// Reads machines with hwloc.
#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/ranges.hpp"
#include "topo/allowed_cpus.hpp"
#include "topo/machine.hpp"

namespace hr::topo {
namespace {

using Topology = std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)>;
using Bitmap = std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)>;

using PciDevice = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

constexpr std::string_view kSynthetic = "synthetic:";

CpuSet numbers_of(const hwloc_bitmap_s* bitmap) {
  CpuSet numbers;
  for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0; cpu = hwloc_bitmap_next(bitmap, cpu)) {
    numbers.push_back(static_cast<unsigned>(cpu));
  }
  return numbers;
}

// Returns hwloc's type of a level; none if hwloc has no such type.
std::optional<hwloc_obj_type_t> type_of(Level level) {
  switch (level) {
    case Level::kThread:
      return HWLOC_OBJ_PU;
    case Level::kCore:
      return HWLOC_OBJ_CORE;
    case Level::kL1:
      return HWLOC_OBJ_L1CACHE;
    case Level::kL2:
      return HWLOC_OBJ_L2CACHE;
    case Level::kL3:
      return HWLOC_OBJ_L3CACHE;
    case Level::kNuma:
      return HWLOC_OBJ_NUMANODE;
    case Level::kSocket:
      return HWLOC_OBJ_PACKAGE;
    case Level::kCache:
    case Level::kMachine:
      break;
  }
  return std::nullopt;
}

void keep(hwloc_topology_t topology, Level level) {
  if (level == Level::kCache) {
    keep(topology, Level::kL2);
    keep(topology, Level::kL3);
    return;
  }
  const std::optional<hwloc_obj_type_t> type = type_of(level);
  if (!type) return;
  hwloc_topology_set_type_filter(topology, *type, HWLOC_TYPE_FILTER_KEEP_ALL);
  // Without groups, memory whose CPUs form no other part of the machine would be reported as that of its parent.
  if (type == HWLOC_OBJ_NUMANODE) {
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  }
}

// Disables hwloc's plugins that use vendor libraries: these libraries start threads, which receive signals intended for
// the launcher, and create contexts on every GPU. Devices are found on the PCI bus.
void leave_out_makers(hwloc_topology_t topology) {
  for (const char* const component : {"opencl", "cuda", "nvml", "rsmi", "levelzero", "gl"})
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, component);
}

// Creates the topology of `source` (as passed to read_machine()), without loading it.
Status open(const std::string& source, Topology* topology) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(Errc::kOther, "hwloc cannot be started: %s", std::strerror(errno));
  topology->reset(raw);
  leave_out_makers(raw);
  if (source.starts_with(kSynthetic)) {
    const std::string notation = source.substr(kSynthetic.size());
    if (hwloc_topology_set_synthetic(raw, notation.c_str()) == 0) return kOk;
    return fail(Errc::kOther,
                "machine \"%s\": hwloc does not understand that; an example is \"synthetic:pack:2 numa:2 core:4 pu:2\"",
                source.c_str());
  }
  if (source.empty()) {
    // hwloc's component for x86 binds the thread to each processor in turn, for which it queries the thread's affinity.
    if (!affinity_is_told()) hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    return kOk;
  }
  if (::access(source.c_str(), R_OK) != 0) {
    return fail(Errc::kOther, "machine %s: %s (a machine is an hwloc XML file, or \"synthetic:pack:2 core:4 pu:2\")",
                source.c_str(), std::strerror(errno));
  }
  if (hwloc_topology_set_xml(raw, source.c_str()) == 0) return kOk;
  return fail(Errc::kOther, "machine %s: it is not an hwloc XML file, as `headrace map --save` or lstopo write one",
              source.c_str());
}

// True if the system describes its processors; a container without /sys does not.
bool system_describes_processors() {
  return ::access("/sys/devices/system/cpu/cpu0/topology", R_OK) == 0 || ::access("/sys/bus/cpu/devices", R_OK) == 0;
}

// hwloc then asks the processors themselves, or knows no more than their number. Its own message would be printed
// whatever the setting `verbose` is.
int load_without_description(Topology& topology) {
  constexpr const char* kHide = "HWLOC_HIDE_ERRORS";
  const bool mine = ::getenv(kHide) == nullptr;
  if (mine) ::setenv(kHide, "2", 1);
  const int code = hwloc_topology_load(topology.get());
  if (mine) ::unsetenv(kHide);
  log::write(log::Level::kNote,
             "the system describes no processors in /sys: caches, memories and devices may be unknown");
  return code;
}

Status load(const std::string& source, Topology& topology) {
  const bool described = !source.empty() || system_describes_processors();
  if ((described ? hwloc_topology_load(topology.get()) : load_without_description(topology)) == 0) return kOk;
  if (source.empty()) return fail(Errc::kOther, "hwloc cannot read this machine: %s", std::strerror(errno));
  return fail(Errc::kOther, "machine %s: hwloc cannot load it; is the file complete?", source.c_str());
}

// Drops memories whose CPUs include those of another memory, or equal those of an earlier one (GPU memory,
// high-bandwidth memory): they are not separate domains.
void drop_memories_around_others(std::vector<CpuSet>& parts) {
  std::vector<CpuSet> kept;
  for (const CpuSet& part : parts) {
    const bool is_around = std::any_of(parts.begin(), parts.end(), [&](const CpuSet& other) {
      return other.size() < part.size() && holds(part, other);
    });
    if (!is_around && std::find(kept.begin(), kept.end(), part) == kept.end()) kept.push_back(part);
  }
  parts = std::move(kept);
}

void read_level(hwloc_topology_t topology, Level level, Machine* machine) {
  const std::optional<hwloc_obj_type_t> type = type_of(level);
  if (!type) return;
  const auto at = static_cast<std::size_t>(level);
  std::vector<CpuSet>& parts = machine->levels[at];
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_obj_by_type(topology, *type, object)) != nullptr;) {
    if (object->cpuset == nullptr || hwloc_bitmap_iszero(object->cpuset)) continue;
    parts.push_back(numbers_of(object->cpuset));
    const bool is_cache = level >= Level::kL1 && level <= Level::kL3;
    if (is_cache && object->attr != nullptr) machine->cache_bytes[at] = object->attr->cache.size;
  }
  if (level == Level::kNuma) drop_memories_around_others(parts);
}

bool is_gpu(const PciDevice& device) {
  constexpr unsigned kVga = 0x0300, k3d = 0x0302, kDisplay = 0x0380, kAccelerator = 0x1200;
  constexpr unsigned kNvidia = 0x10de, kAmd = 0x1002;
  if (device.class_id == k3d || device.class_id == kAccelerator) return true;
  // Display chips for server management are not GPUs.
  return (device.class_id == kVga || device.class_id == kDisplay) &&
         (device.vendor_id == kNvidia || device.vendor_id == kAmd);
}

bool is_nic(const PciDevice& device) {
  constexpr unsigned kEthernet = 0x0200, kInfiniBand = 0x0207, kFabric = 0x0208;
  return device.class_id == kEthernet || device.class_id == kInfiniBand || device.class_id == kFabric;
}

// Finds the system's name for the device: that of an object below the device in the tree, perhaps below another bus.
void find_name(hwloc_obj_t object, Device* device) {
  for (hwloc_obj_t child = object->io_first_child; child != nullptr; child = child->next_sibling) {
    if (child->type == HWLOC_OBJ_OS_DEVICE && child->name != nullptr) {
      const auto type = child->attr->osdev.type;
      const bool is_fast = type == HWLOC_OBJ_OSDEV_OPENFABRICS;
      const bool is_wanted = device->kind == Device::Kind::kNic
                                 ? is_fast || (type == HWLOC_OBJ_OSDEV_NETWORK && !device->is_fast_network)
                                 : type == HWLOC_OBJ_OSDEV_COPROC || device->name.empty();
      if (is_wanted) device->name = child->name;
      device->is_fast_network = device->is_fast_network || is_fast;
    }
    find_name(child, device);
  }
}

void read_devices(hwloc_topology_t topology, Machine* machine) {
  for (hwloc_obj_t object = nullptr; (object = hwloc_get_next_pcidev(topology, object)) != nullptr;) {
    const PciDevice& attributes = object->attr->pcidev;
    if (!is_gpu(attributes) && !is_nic(attributes)) continue;
    Device device;
    device.kind = is_gpu(attributes) ? Device::Kind::kGpu : Device::Kind::kNic;
    char address[32];
    std::snprintf(address, sizeof address, "%04x:%02x:%02x.%x", static_cast<unsigned>(attributes.domain),
                  attributes.bus, attributes.dev, attributes.func);
    device.address = address;
    find_name(object, &device);
    if (device.name.empty()) device.name = address;
    const hwloc_obj_t place = hwloc_get_non_io_ancestor_obj(topology, object);
    if (place != nullptr && place->cpuset != nullptr) device.cpus = numbers_of(place->cpuset);
    for (hwloc_obj_t above = object->parent; above != nullptr && above->type == HWLOC_OBJ_BRIDGE;
         above = above->parent) {
      device.bridges.insert(device.bridges.begin(), static_cast<int>(above->gp_index));
    }
    machine->devices.push_back(std::move(device));
  }
}

Status restrict_to(const CpuSet& only, Machine* machine) {
  for (const unsigned cpu : only) {
    if (std::binary_search(machine->allowed.begin(), machine->allowed.end(), cpu)) continue;
    return fail(Errc::kOther, "%s has no CPU %u that may be used; it has CPU %s", machine->name.c_str(), cpu,
                as_ranges(machine->allowed).c_str());
  }
  machine->allowed = only;
  return kOk;
}

std::string name_from(const std::string& source) {
  if (source.starts_with(kSynthetic)) return "synthetic";
  if (!source.empty()) {
    std::string name = source.substr(source.find_last_of('/') + 1);
    return name.substr(0, name.rfind('.'));
  }
  return host_name();
}

}  // namespace

Status read_machine(const std::string& source, const Needs& needs, Machine* machine) {
  *machine = {};
  machine->name = name_from(source);
  Topology topology(nullptr, &hwloc_topology_destroy);
  HR_TRY(open(source, &topology));
  hwloc_topology_set_all_types_filter(topology.get(), HWLOC_TYPE_FILTER_KEEP_NONE);
  keep(topology.get(), Level::kCore);
  for (const Level level : needs.levels) keep(topology.get(), level);
  if (needs.devices) hwloc_topology_set_io_types_filter(topology.get(), HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  HR_TRY(load(source, topology));

  const Bitmap cpus(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  hwloc_bitmap_copy(cpus.get(), hwloc_topology_get_allowed_cpuset(topology.get()));
  if (source.empty() && hwloc_topology_is_thissystem(topology.get()) != 0) {
    // Done here and not in hwloc, which would retry repeatedly if the system refuses the call.
    const Bitmap own(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
    for (const unsigned cpu : allowed_cpus()) hwloc_bitmap_set(own.get(), cpu);
    if (hwloc_bitmap_iszero(own.get()) == 0) hwloc_bitmap_and(cpus.get(), cpus.get(), own.get());
  }
  machine->allowed = numbers_of(cpus.get());
  if (!needs.only.empty()) HR_TRY(restrict_to(needs.only, machine));
  for (const Level level : kAllLevels) read_level(topology.get(), level, machine);
  const Level outermost = machine->all(Level::kL3).empty() ? Level::kL2 : Level::kL3;
  machine->levels[static_cast<std::size_t>(Level::kCache)] = machine->all(outermost);
  machine->cache_bytes[static_cast<std::size_t>(Level::kCache)] =
      machine->cache_bytes[static_cast<std::size_t>(outermost)];
  if (needs.devices) read_devices(topology.get(), machine);
  if (machine->allowed.empty())
    return fail(Errc::kOther, "machine %s has no CPU that may be used", machine->name.c_str());
  return kOk;
}

Status write_machine(const std::string& path) {
  Topology topology(nullptr, &hwloc_topology_destroy);
  HR_TRY(open("", &topology));
  hwloc_topology_set_io_types_filter(topology.get(), HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  HR_TRY(load("", topology));
  if (hwloc_topology_export_xml(topology.get(), path.c_str(), 0) == 0) return kOk;
  return fail(Errc::kOther, "%s cannot be written: %s", path.c_str(), std::strerror(errno));
}

}  // namespace hr::topo
