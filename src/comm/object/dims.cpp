// MPI_Dims_create: a balanced factorisation by search.
//
// The free dimensions become the factorisation whose largest and smallest entries differ least: "as close to each other
// as possible". Among equally good factorisations, the one with the larger smallest entry is chosen, then the one with
// the smaller largest entry, then the smaller second largest, and so on; other libraries return the same grids. The
// search visits only divisors of the node count; a count below 2^31 has at most 1,536 of them, and the bounds below
// shorten the search.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "comm/topology.hpp"

namespace hr::comm {

namespace {

struct Divisor {
  int value;
  int largest_prime;  // largest prime factor; 1 for 1
  int primes;         // number of prime factors, with multiplicity
};

// Returns the divisors in ascending order.
std::vector<Divisor> divisors_of(int number) {
  std::vector<Divisor> divisors{{1, 1, 0}};
  const auto take_prime = [&](int prime, int times) {
    const std::size_t before = divisors.size();
    for (std::size_t i = 0; i < before * static_cast<std::size_t>(times); ++i) {
      const Divisor smaller = divisors[divisors.size() - before];
      divisors.push_back({smaller.value * prime, prime, smaller.primes + 1});
    }
  };
  for (int prime = 2; prime <= number / prime; ++prime) {
    int times = 0;
    for (; number % prime == 0; number /= prime) ++times;
    take_prime(prime, times);
  }
  if (number > 1) take_prime(number, 1);
  std::sort(divisors.begin(), divisors.end(), [](const Divisor& a, const Divisor& b) { return a.value < b.value; });
  return divisors;
}

// Returns the smallest integer whose `n`-th power is at least `number`.
int ceil_root(int number, std::size_t n) {
  const auto power_reaches = [&](int base) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < n && product < number; ++i) product *= base;
    return product >= number;
  };
  int root = std::max(1, static_cast<int>(std::pow(number, 1.0 / static_cast<double>(n))) - 1);
  while (!power_reaches(root)) ++root;
  return root;
}

// Search among the divisors of one number, for all steps of balance().
class Search {
 public:
  Search(int number, std::size_t ndims) : divisors_(divisors_of(number)), failed_(divisors_.size() * (ndims + 1)) {}

  [[nodiscard]] const std::vector<Divisor>& divisors() const noexcept { return divisors_; }
  [[nodiscard]] auto at_least(int value) const noexcept {
    return std::lower_bound(divisors_.begin(), divisors_.end(), value,
                            [](const Divisor& divisor, int wanted) { return divisor.value < wanted; });
  }

  // Writes the lexicographically smallest non-increasing factorisation of a divisor into `out`, with no factor below
  // `least` or above `limit`. False if there is none.
  bool factor(int number, int least, int limit, std::span<int> out) {
    const std::size_t n = out.size();
    if (n == 1) {
      out[0] = number;
      return number >= least && number <= limit;
    }
    const auto self = at_least(number);
    if (self->largest_prime > limit || (least > 1 && static_cast<std::size_t>(self->primes) < n)) return false;
    Failed& failed = failed_[static_cast<std::size_t>(self - divisors_.begin()) + divisors_.size() * n];
    if (failed.least == least && limit <= failed.limit) return false;
    const int highest = std::min(limit, number / least);
    for (auto divisor = at_least(std::max(ceil_root(number, n), self->largest_prime));
         divisor != divisors_.end() && divisor->value <= highest; ++divisor) {
      if (number % divisor->value != 0) continue;
      if (factor(number / divisor->value, least, divisor->value, out.subspan(1))) {
        out[0] = divisor->value;
        return true;
      }
    }
    failed = {least, limit};
    return false;
  }

 private:
  // For a number of factors and a divisor: there is no factorisation with the minimum factor `least` and a limit of at
  // most `limit`.
  struct Failed {
    int least = 0;
    int limit = 0;
  };

  std::vector<Divisor> divisors_;
  std::vector<Failed> failed_;
};

// Factorises `number` into out.size() factors, largest first.
void balance(int number, std::span<int> out) {
  const std::size_t others = out.size() - 1;
  out[0] = number;
  if (others == 0) return;
  Search search(number, out.size());
  const int largest_prime = search.divisors().back().largest_prime;
  // The factorisation whose largest entry is smallest is often the best, and bounds the search.
  static_cast<void>(search.factor(number, 1, number, out));
  std::int64_t best = std::int64_t{out.front()} - out.back() + 1;
  // Tries smallest entries in descending order from the largest possible one. The other entries grow, until no
  // difference can be less than the best one so far.
  std::vector<int> found(others);
  const auto end = search.at_least(ceil_root(number, out.size()) + 1);
  for (auto divisor = std::make_reverse_iterator(end); divisor != search.divisors().rend(); ++divisor) {
    const int least = divisor->value;
    const int rest = number / least;
    if (std::max(ceil_root(rest, others), largest_prime) - least >= best) break;
    const auto limit = static_cast<int>(std::min<std::int64_t>(least + best - 1, number));
    if (!search.factor(rest, least, limit, found)) continue;
    best = found[0] - least;
    std::copy(found.begin(), found.end(), out.begin());
    out.back() = least;
  }
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
  // Trailing entries of 1 need no search; so its depth is at most 31.
  std::vector<int> found(free_dims, 1);
  const std::size_t searched = std::min<std::size_t>(free_dims, 31);
  balance(rest, std::span(found).first(searched));
  std::size_t next = 0;
  for (int& dim : dims) {
    if (dim == 0) dim = found[next++];
  }
  return kOk;
}

}  // namespace hr::comm
