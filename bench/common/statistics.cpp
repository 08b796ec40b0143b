#include "common/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace bench {

Statistics summarise(std::vector<double> samples, bool less_is_better) {
  if (less_is_better) {
    std::sort(samples.begin(), samples.end());
  } else {
    std::sort(samples.begin(), samples.end(), std::greater<>());
  }
  const auto at = [&](double share) {  // nearest rank
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(samples.size())));
    return samples[rank == 0 ? 0 : rank - 1];
  };
  return {samples.front(), at(0.5), at(0.9), at(0.99), samples.back(), samples.size()};
}

}  // namespace bench
