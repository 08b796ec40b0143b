#include "coll/registry.hpp"

#include <array>

namespace hr::coll {

namespace {
#define HR_COLL_ADDRESS(name) &name,
constexpr std::array kAlgorithms = {HR_COLL_ALGORITHMS(HR_COLL_ADDRESS)};
#undef HR_COLL_ADDRESS
}  // namespace

std::span<const Algorithm* const> algorithms() noexcept { return kAlgorithms; }

const Algorithm* find_algorithm(Operation operation, std::string_view name) noexcept {
  for (const Algorithm* algorithm : kAlgorithms) {
    if ((algorithm->operations & serves(operation)) != 0 && name == algorithm->name) return algorithm;
  }
  return nullptr;
}

}  // namespace hr::coll
