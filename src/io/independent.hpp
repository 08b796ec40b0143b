// Independent access: moves only this process's data (MPI 5.0 sections 14.4.2 to 14.4.4).
#pragma once

#include "io/operation.hpp"

namespace hr::io {

[[nodiscard]] p2p::Task independent(Operation* operation, Job* job);

}  // namespace hr::io
