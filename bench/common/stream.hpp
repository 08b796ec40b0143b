// A window of non-blocking messages and one small answer, repeated: the common loop of bandwidth, bidirectional
// bandwidth and message rate. The time includes the answer, as in other suites.
#pragma once

#include "common/runner.hpp"

namespace bench {

void stream_one_way(const Transfer& transfer);
void stream_both_ways(const Transfer& transfer);

}  // namespace bench
