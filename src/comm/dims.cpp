// MPI_Dims_create: a balanced factorisation by search.
//
// The free dimensions get the factorisation whose largest entry is smallest, then whose second largest is smallest,
// and so on: "as close to each other as possible". The search walks divisors of the node count only; a count below
// 2^31 has at most 1,536 of them, and the bounds below cut the walk short.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "comm/topology.hpp"

namespace hr::comm {

namespace {

std::vector<int> divisors_of(int number) {
  std::vector<int> low;
  std::vector<int> high;
  for (int i = 1; static_cast<std::int64_t>(i) * i <= number; ++i) {
    if (number % i != 0) continue;
    low.push_back(i);
    if (i != number / i) high.push_back(number / i);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

// The smallest integer whose `n`-th power is at least `number`.
int root_up(int number, std::size_t n) {
  const auto power_reaches = [&](int base) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < n && product < number; ++i) product *= base;
    return product >= number;
  };
  int guess = std::max(1, static_cast<int>(std::pow(number, 1.0 / static_cast<double>(n))) - 1);
  while (!power_reaches(guess)) ++guess;
  return guess;
}

// Writes the lexicographically smallest non-increasing factorisation of `number` into `out`, with no factor above
// `limit`. False when there is none.
bool factor(int number, int limit, const std::vector<int>& divisors, std::span<int> out) {
  if (out.size() == 1) {
    out[0] = number;
    return number <= limit;
  }
  const auto begin = std::lower_bound(divisors.begin(), divisors.end(), root_up(number, out.size()));
  for (auto divisor = begin; divisor != divisors.end() && *divisor <= std::min(limit, number); ++divisor) {
    if (number % *divisor != 0) continue;
    if (factor(number / *divisor, *divisor, divisors, out.subspan(1))) {
      out[0] = *divisor;
      return true;
    }
  }
  return false;
}

}  // namespace

Status dims_create(int nodes, std::span<int> dims) {
  if (nodes <= 0) return fail(Errc::kDims, "the number of nodes is %d: must be positive", nodes);
  if (dims.empty()) return kOk;
  std::size_t free_dims = 0;
  std::int64_t given = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) return fail(Errc::kDims, "dims[%zu] = %d is negative", i, dims[i]);
    if (dims[i] == 0) {
      ++free_dims;
    } else {
      given *= dims[i];
      if (given > nodes) given = static_cast<std::int64_t>(nodes) + 1;
    }
  }
  if (nodes % given != 0) {
    return fail(Errc::kDims, "%d nodes are not a multiple of the product of the given dimensions", nodes);
  }
  const auto rest = static_cast<int>(nodes / given);
  if (free_dims == 0) {
    if (rest == 1) return kOk;
    return fail(Errc::kDims, "no dimension is free, and the product of the given ones is not %d", nodes);
  }
  // Trailing ones need no search, and keep its depth at 31.
  std::vector<int> found(free_dims, 1);
  const std::size_t searched = std::min<std::size_t>(free_dims, 31);
  static_cast<void>(factor(rest, rest, divisors_of(rest), std::span(found).first(searched)));
  std::size_t next = 0;
  for (int& dim : dims) {
    if (dim == 0) dim = found[next++];
  }
  return kOk;
}

}  // namespace hr::comm
