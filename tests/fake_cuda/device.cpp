// Devices of the fake driver. A machine has FAKE_CUDA_DEVICES of them; CUDA_VISIBLE_DEVICES chooses and orders those
// visible to a process. Their UUIDs and bus numbers are the same in all processes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "state.hpp"

namespace fake_cuda {
namespace {

struct Uuid {
  unsigned char bytes[16];
};
Uuid uuid_of(int physical) {
  Uuid uuid{};
  std::memcpy(uuid.bytes, "fake_cuda", 9);
  uuid.bytes[15] = static_cast<unsigned char>(physical);
  return uuid;
}

// Formats like nvidia-smi: GPU-66616b65-5f63-7564-6100-000000000001, or MIG- for an instance.
std::string text_of(const Uuid& uuid, const char* prefix) {
  std::string text = prefix;
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", uuid.bytes[i]);
    text += digits;
  }
  return text;
}

// Returns the device that an entry of CUDA_VISIBLE_DEVICES names, by number or by a prefix of its UUID; -1 for none.
int device_of(const std::string& entry, int all) {
  for (const char* prefix : {"GPU-", "MIG-"}) {
    if (entry.rfind(prefix, 0) != 0) continue;
    for (int physical = 0; physical < all; ++physical) {
      if (text_of(uuid_of(physical), prefix).rfind(entry, 0) == 0) return physical;
    }
    return -1;
  }
  char* end = nullptr;
  const long number = std::strtol(entry.c_str(), &end, 10);
  return end != entry.c_str() && *end == '\0' && number >= 0 && number < all ? static_cast<int>(number) : -1;
}

int physical_of(int device) { return state().physical[static_cast<std::size_t>(device)]; }

// Returns the bus number: instances of one GPU have the same.
int bus_of(int device) {
  const int physical = physical_of(device);
  return (state().instances > 0 ? physical / state().instances : physical) + 1;
}

// Returns the pairs of FAKE_CUDA_NO_PEER, a list such as 0-1,2-3.
const std::vector<std::pair<int, int>>& pairs_apart() {
  static const auto* all = [] {
    auto* made = new std::vector<std::pair<int, int>>;
    const char* next = std::getenv("FAKE_CUDA_NO_PEER");
    for (int one = 0, other = 0, length = 0;
         next != nullptr && std::sscanf(next, "%d-%d%n", &one, &other, &length) == 2; next += length) {
      made->emplace_back(one, other);
      if (next[length] == ',') ++length;
    }
    return made;
  }();
  return *all;
}

}  // namespace

std::vector<int> visible_devices(int all) {
  std::vector<int> visible;
  const char* list = std::getenv("CUDA_VISIBLE_DEVICES");
  if (list == nullptr) {
    for (int physical = 0; physical < all; ++physical) visible.push_back(physical);
    return visible;
  }
  const std::string text = list;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    const int physical = device_of(text.substr(from, comma - from), all);
    if (physical < 0) break;  // those before it count
    visible.push_back(physical);
    from = comma + 1;
  }
  return visible;
}

bool valid_device(int device) { return device >= 0 && device < state().devices; }

bool peers(int physical, int other) {
  static const char* const allowed = std::getenv("FAKE_CUDA_PEER");
  if (state().instances > 0 || (allowed != nullptr && std::strtol(allowed, nullptr, 0) == 0)) return false;
  return std::none_of(pairs_apart().begin(), pairs_apart().end(), [&](const std::pair<int, int>& pair) {
    return pair == std::pair(physical, other) || pair == std::pair(other, physical);
  });
}

}  // namespace fake_cuda

using namespace fake_cuda;

namespace {
Result require_device(int device, const char* call = __builtin_FUNCTION()) {
  if (const Result result = require_init(call); result != kSuccess) return result;
  return valid_device(device) ? kSuccess : kInvalidDevice;
}
}  // namespace

FAKE_API Result cuDeviceGetCount(int* count) {
  if (const Result result = require_init(); result != kSuccess) return result;
  *count = state().devices;
  return kSuccess;
}
FAKE_API Result cuDeviceGet(int* device, int ordinal) {
  if (const Result result = require_device(ordinal); result != kSuccess) return result;
  *device = ordinal;
  return kSuccess;
}
FAKE_API Result cuDeviceGetName(char* name, int length, int device) {
  if (const Result result = require_device(device); result != kSuccess) return result;
  std::snprintf(name, static_cast<std::size_t>(length), "Fake CUDA device %d", physical_of(device));
  return kSuccess;
}
FAKE_API Result cuDeviceGetUuid_v2(Uuid* uuid, int device) {
  if (const Result result = require_device(device); result != kSuccess) return result;
  *uuid = uuid_of(physical_of(device));
  return kSuccess;
}
FAKE_API Result cuDeviceGetUuid(Uuid* uuid, int device) { return cuDeviceGetUuid_v2(uuid, device); }

FAKE_API Result cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  if (const Result result = require_device(device); result != kSuccess) return result;
  *bytes = state().device_bytes;
  return kSuccess;
}
FAKE_API Result cuDeviceGetPCIBusId(char* text, int length, int device) {
  if (const Result result = require_device(device); result != kSuccess) return result;
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%02X:00.0", bus_of(device));
  return kSuccess;
}
FAKE_API Result cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (const Result result = require_device(device); result != kSuccess) return result;
  switch (attribute) {
    case 1:  // MAX_THREADS_PER_BLOCK
      *value = 1024;
      break;
    case 10:  // WARP_SIZE
      *value = 32;
      break;
    case 16:  // MULTIPROCESSOR_COUNT
      *value = 4;
      break;
    case 33:  // PCI_BUS_ID
      *value = bus_of(device);
      break;
    case 36:  // MEMORY_CLOCK_RATE, kHz
      *value = 3'000'000;
      break;
    case 37:  // GLOBAL_MEMORY_BUS_WIDTH
      *value = 6144;
      break;
    case 75:  // COMPUTE_CAPABILITY_MAJOR
      *value = 9;
      break;
    case 20:  // COMPUTE_MODE
      *value = state().compute_mode;
      break;
    case 34:   // PCI_DEVICE_ID
    case 50:   // PCI_DOMAIN_ID
    case 76:   // COMPUTE_CAPABILITY_MINOR
    case 110:  // GPU_DIRECT_RDMA_SUPPORTED
    case 124:  // DMA_BUF_SUPPORTED
    case 128:  // HANDLE_TYPE_FABRIC_SUPPORTED
    case 132:  // MULTICAST_SUPPORTED
      *value = 0;
      break;
    case 133: {  // MPS_ENABLED: kernels of several processes run concurrently, as they do here
      const char* mps = std::getenv("FAKE_CUDA_MPS");
      *value = mps == nullptr || mps[0] != '0' ? 1 : 0;
      break;
    }
    default:  // everything that is emulated is supported
      *value = 1;
  }
  return kSuccess;
}

FAKE_API Result cuDeviceCanAccessPeer(int* possible, int device, int peer) {
  if (const Result result = require_device(device); result != kSuccess) return result;
  if (!valid_device(peer)) return kInvalidDevice;
  *possible = device != peer && peers(physical_of(device), physical_of(peer)) ? 1 : 0;
  return kSuccess;
}
FAKE_API Result cuDeviceGetP2PAttribute(int* value, int attribute, int device, int peer) {
  if (const Result result = require_device(device); result != kSuccess) return result;
  if (!valid_device(peer) || peer == device) return kInvalidDevice;
  switch (attribute) {
    case 1:  // PERFORMANCE_RANK: the best there is
      *value = 0;
      return kSuccess;
    case 2:  // ACCESS_SUPPORTED
    case 3:  // NATIVE_ATOMIC_SUPPORTED
    case 4:  // CUDA_ARRAY_ACCESS_SUPPORTED
      *value = peers(physical_of(device), physical_of(peer)) ? 1 : 0;
      return kSuccess;
    default:
      return kInvalidValue;
  }
}
