// NodeStore: the key-value store of one host, which its first process fills at the start and the others read. It is a
// single value in the launcher's key-value space, so that each process makes one request, however many keys there are.
//
// Internal to boot/. Owner: boot.cpp, one from init() on. Threads: library lock.
#pragma once

#include <string>
#include <string_view>

#include "boot/key_values.hpp"
#include "boot/provider.hpp"

namespace hr::boot {

class NodeStore {
 public:
  NodeStore() = default;
  // `first`: the host's first rank.
  NodeStore(int host, int rank, int first, bool alone = false)
      : key_("headrace-node-" + std::to_string(host)), owner_(first), first_(rank == first), alone_(alone) {}

  // Puts a value; has an effect only in the first process of the host, before publish().
  void put(std::string_view key, std::string_view value);
  // Publishes the values, even if there are none, as the other processes will request them. Called before a fence.
  Status publish(Provider& provider);
  // Returns an empty value if none was put. Errors: the provider's.
  Status get(Provider& provider, std::string_view key, std::string* value);

 private:
  std::string key_;
  int owner_ = 0;
  bool first_ = false;
  bool alone_ = true;   // this is the only process on its host, so no other will request values
  bool known_ = false;  // true if values_ contains the published values
  KeyValues values_;
};

}  // namespace hr::boot
