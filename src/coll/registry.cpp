#include "coll/registry.hpp"

#include <array>

#include "coll/counting.hpp"

namespace hr::coll {

namespace {
#define HR_COLL_ADDRESS(name) &name,
constexpr std::array kAlgorithms = {HR_COLL_ALGORITHMS(HR_COLL_ADDRESS)};
#undef HR_COLL_ADDRESS
#define HR_COLL_NAME(name) #name,
constexpr const char* kNames[] = {HR_COLL_ALGORITHMS(HR_COLL_NAME)};
#undef HR_COLL_NAME
static_assert(kAlgorithms.size() <= counters::kAlgorithms);
static_assert(static_cast<std::size_t>(kOperations) <= counters::kOperations);
}  // namespace

std::span<const Algorithm* const> algorithms() noexcept { return kAlgorithms; }
std::span<const char* const> algorithm_names() noexcept { return kNames; }

const Algorithm* find_algorithm(Operation operation, std::string_view name) noexcept {
  for (const Algorithm* algorithm : kAlgorithms) {
    if ((algorithm->operations & serves(operation)) != 0 && name == algorithm->name) return algorithm;
  }
  return nullptr;
}

}  // namespace hr::coll
