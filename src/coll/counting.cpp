#include "coll/counting.hpp"

namespace hr::coll {

AlgorithmIndexes::AlgorithmIndexes() {
  const auto all = algorithms();
  for (std::size_t index = 0; index < all.size(); ++index) {
    std::size_t at = first_of(all[index]);
    while (entries_[at].algorithm != nullptr) at = (at + 1) % kEntries;
    entries_[at] = {all[index], index};
  }
}

}  // namespace hr::coll
