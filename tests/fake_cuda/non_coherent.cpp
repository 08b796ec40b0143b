#include "non_coherent.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

namespace fake_cuda::non_coherent {
namespace {

constexpr std::size_t kPage = 4096;

// `common`: the contents on which the memory and the caches last agreed.
struct Cached {
  unsigned char* memory = nullptr;
  std::vector<unsigned char> common, cache;

  // Takes over the changes of one side.
  void take(unsigned char* to, const unsigned char* from) {
    for (std::size_t at = 0; at < common.size(); at += kPage) {
      const std::size_t bytes = std::min(kPage, common.size() - at);
      if (std::memcmp(from + at, common.data() + at, bytes) == 0) continue;
      for (std::size_t i = at; i < at + bytes; ++i) {
        if (from[i] != common[i]) to[i] = common[i] = from[i];
      }
    }
  }
  void acquire() { take(cache.data(), memory); }
  void release() { take(memory, cache.data()); }
};

struct Table {
  std::mutex mutex;
  std::map<Address, Cached> all;
  std::atomic<bool> any = false;
};
Table& table() {
  static auto* instance = new Table;
  return *instance;
}

}  // namespace

void add(Address address, std::size_t bytes) {
  std::lock_guard lock(table().mutex);
  auto* const memory = reinterpret_cast<unsigned char*>(address);
  table().all[address] = {memory, {memory, memory + bytes}, {memory, memory + bytes}};
  table().any = true;
}

void remove(Address address) {
  std::lock_guard lock(table().mutex);
  table().all.erase(address);
  table().any = !table().all.empty();
}

void* device_view(Address address) {
  if (!table().any) return alias(address);
  std::lock_guard lock(table().mutex);
  const auto after = table().all.upper_bound(address);
  if (after == table().all.begin()) return alias(address);
  auto& [start, cached] = *std::prev(after);
  if (address - start >= cached.cache.size()) return alias(address);
  cached.acquire();
  return cached.cache.data() + (address - start);
}

Result release_to_system() {
  if (!table().any) return kSuccess;
  std::lock_guard lock(table().mutex);
  for (auto& [start, cached] : table().all) cached.release();
  return kSuccess;
}

}  // namespace fake_cuda::non_coherent
