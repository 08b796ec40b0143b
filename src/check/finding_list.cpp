#include "check/finding.hpp"

namespace hr::check {

extern const Finding kBuffers;
extern const Finding kCollectives;
extern const Finding kDeadlocks;
extern const Finding kEpochs;
extern const Finding kLeaks;
extern const Finding kLost;
extern const Finding kOneSided;
extern const Finding kOrder;
extern const Finding kRaces;
extern const Finding kSignatures;
extern const Finding kThreads;

namespace {

// Findings that use other findings' notes on the call come after them.
constexpr const Finding* kFindings[] = {&kThreads, &kDeadlocks,   &kBuffers, &kOneSided, &kSignatures, &kEpochs,
                                        &kOrder,   &kCollectives, &kRaces,   &kLost,     &kLeaks};

}  // namespace

std::span<const Finding* const> findings() noexcept { return kFindings; }

}  // namespace hr::check
