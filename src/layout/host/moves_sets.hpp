// The sets of moves, one per file moves_<set>.cpp. Only moves.cpp checks which ones the machine can run.
#pragma once

#include "layout/host/moves.hpp"

namespace hr::layout::host {

extern const Moves kPlainMoves;  // for the processor that the library is compiled for
#if defined(__x86_64__)
extern const Moves kAvx2Moves;
extern const Moves kAvx512Moves;
#endif

}  // namespace hr::layout::host
