// The sets of moves, one a file moves_<set>.cpp. Only moves.cpp asks which ones a machine can run.
#pragma once

#include "layout/host/moves.hpp"

namespace hr::layout::host {

extern const Moves kPlainMoves;  // whatever the library is compiled for
#if defined(__x86_64__)
extern const Moves kAvx2Moves;
extern const Moves kAvx512Moves;
#endif

}  // namespace hr::layout::host
