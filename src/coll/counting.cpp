#include "coll/counting.hpp"

namespace hr::coll {

AlgorithmPlaces::AlgorithmPlaces() {
  const auto all = algorithms();
  for (std::size_t place = 0; place < all.size(); ++place) {
    std::size_t at = first_of(all[place]);
    while (entries_[at].algorithm != nullptr) at = (at + 1) % kEntries;
    entries_[at] = {all[place], place};
  }
}

}  // namespace hr::coll
