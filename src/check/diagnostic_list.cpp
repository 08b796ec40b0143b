#include "check/diagnostic.hpp"

namespace hr::check {

extern const Diagnostic kAssertions;
extern const Diagnostic kBuffers;
extern const Diagnostic kCollectives;
extern const Diagnostic kDeadlocks;
extern const Diagnostic kEnqueued;
extern const Diagnostic kEpochs;
extern const Diagnostic kLeaks;
extern const Diagnostic kLost;
extern const Diagnostic kOneSided;
extern const Diagnostic kOrder;
extern const Diagnostic kRaces;
extern const Diagnostic kSignatures;
extern const Diagnostic kThreads;

namespace {

// A diagnostic that uses what another one has recorded about the call must be listed after it.
constexpr const Diagnostic* kDiagnostics[] = {&kThreads,    &kAssertions, &kDeadlocks, &kBuffers,     &kOneSided,
                                              &kSignatures, &kEpochs,     &kOrder,     &kCollectives, &kRaces,
                                              &kLost,       &kEnqueued,   &kLeaks};

}  // namespace

std::span<const Diagnostic* const> diagnostics() noexcept { return kDiagnostics; }

}  // namespace hr::check
