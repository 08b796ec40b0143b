// Plans: algorithms selected for the operations of one list of members, so that an operation like an earlier one is
// planned with a few comparisons.
//
// The key of a plan contains everything that selection considers and that changes from call to call. Facts that are the
// same for all operations of the members (their number, the memory they share) are not compared; code that changes them
// clears the plans.
// Owner: the Members. Threads: library lock.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hr::coll {

struct Algorithm;

// The properties of a call that selection considers.
struct PlanKey {
  std::size_t bytes = 0;
  std::size_t span = 0;
  std::size_t element = 0;
  std::uint32_t kind = 0;  // the operation and the boolean properties
  [[nodiscard]] bool operator==(const PlanKey&) const = default;
};

class Plans {
 public:
  // Returns the algorithm of the plan; null if there is none.
  [[nodiscard]] const Algorithm* find(const PlanKey& key) const noexcept {
    const Plan& plan = plans_[place(key)];
    return plan.key == key ? plan.algorithm : nullptr;
  }
  void keep(const PlanKey& key, const Algorithm* algorithm) noexcept { plans_[place(key)] = {key, algorithm}; }
  void clear() noexcept { plans_ = {}; }

 private:
  struct Plan {
    PlanKey key;
    const Algorithm* algorithm = nullptr;
  };
  static constexpr std::size_t kPlans = 16;
  // Returns the index of the entry for a plan. Operations and size classes between which a program alternates mostly
  // have different indices.
  [[nodiscard]] static std::size_t place(const PlanKey& key) noexcept {
    return (key.kind * 5 + static_cast<std::size_t>(std::bit_width(key.bytes))) % kPlans;
  }

  std::array<Plan, kPlans> plans_{};
};

}  // namespace hr::coll
