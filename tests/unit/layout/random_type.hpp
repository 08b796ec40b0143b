// Random nested datatypes together with their references.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>

#include "expect.hpp"
#include "layout/constructors.hpp"
#include "reference.hpp"

namespace hr::layout::test {

struct Made {
  Ref<Datatype> type;
  Reference reference;
  std::string how;  // description, printed if a test fails
};

class RandomTypes {
 public:
  explicit RandomTypes(std::uint64_t seed) : random_(seed) {}
  // Takes all choices from these bytes (tests/fuzz); once they run out, each choice is its smallest possible value.
  explicit RandomTypes(std::span<const std::uint8_t> choices) : choices_(choices), by_choices_(true) {}

  // Creates an uncommitted type of at most about `most` entries.
  Made make(int depth, std::size_t most = 600);
  Count number(Count low, Count high) {
    return by_choices_ ? chosen(low, high) : std::uniform_int_distribution<Count>(low, high)(random_);
  }

 private:
  Made basic();
  Made array(const Made& old);
  Made derive(const Made& old, std::size_t most);
  Count chosen(Count low, Count high);
  std::mt19937_64 random_;
  std::span<const std::uint8_t> choices_;
  bool by_choices_ = false;
};

// Returns HR_TEST_SEED, or a fixed seed, and prints it, so that a failure can be repeated.
std::uint64_t test_seed();

// Returns a new reference to a predefined type.
Ref<Datatype> predefined(std::uintptr_t abi_value);

}  // namespace hr::layout::test
