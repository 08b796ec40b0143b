// NodeWords: what the first process of a node tells the others of it at the start, as one value of the launcher's
// key-value space: each process asks once, however many words there are.
//
// Internal to boot/. Owner: boot.cpp, one from init() on. Threads: library lock.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "boot/provider.hpp"

namespace hr::boot {

using Words = std::map<std::string, std::string, std::less<>>;

class NodeWords {
 public:
  NodeWords() = default;
  NodeWords(int node, bool first, bool alone = false)
      : key_("headrace-node-" + std::to_string(node)), first_(first), alone_(alone) {}

  // Has an effect on the first process of the node alone, until it has published.
  void tell(std::string_view key, std::string_view value);
  // Before a fence. Something is published even where nothing has been told: the others will ask.
  Status publish(Provider& provider);
  // Empty when it has not been told. Errors: the provider's.
  Status told(Provider& provider, std::string_view key, std::string* value);

 private:
  std::string key_;
  bool first_ = false;
  bool alone_ = true;   // on its node: nobody will ask
  bool known_ = false;  // words_ is what was published
  Words words_;
};

// "3/shm9/some/path": each text after its length. Errors of split(): MPI_ERR_OTHER for what join() did not write.
[[nodiscard]] std::string join(const Words& words);
Status split(std::string_view text, Words* words);

}  // namespace hr::boot
