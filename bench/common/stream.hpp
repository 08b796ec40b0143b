// A window of non-blocking messages followed by one small reply, repeated: the common loop of bandwidth, bidirectional
// bandwidth and message rate. The time includes the reply, as in other suites.
#pragma once

#include "common/runner.hpp"

namespace bench {

void stream_one_way(const Transfer& transfer);
void stream_both_ways(const Transfer& transfer);

}  // namespace bench
