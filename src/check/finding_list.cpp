#include "check/finding.hpp"

namespace hr::check {

extern const Finding kLeaks;

namespace {

// Those that look at what others have noted of the call come after them.
constexpr const Finding* kFindings[] = {&kLeaks};

}  // namespace

std::span<const Finding* const> findings() noexcept { return kFindings; }

}  // namespace hr::check
