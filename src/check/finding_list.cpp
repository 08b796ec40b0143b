#include "check/finding.hpp"

namespace hr::check {

extern const Finding kBuffers;
extern const Finding kCollectives;
extern const Finding kDeadlocks;
extern const Finding kEpochs;
extern const Finding kLeaks;
extern const Finding kSignatures;

namespace {

// Those that look at what others have noted of the call come after them.
constexpr const Finding* kFindings[] = {&kDeadlocks, &kBuffers, &kSignatures, &kCollectives, &kEpochs, &kLeaks};

}  // namespace

std::span<const Finding* const> findings() noexcept { return kFindings; }

}  // namespace hr::check
