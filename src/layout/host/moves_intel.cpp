// AVX-512 as Intel's processors have it from Sapphire Rapids on (moves.cpp).
#define HEADRACE_MOVES_INTEL
#include "layout/host/loops.hpp"
#include "layout/host/moves_sets.hpp"

namespace hr::layout::host {

constinit const Moves kIntelMoves = make_moves("intel");

}  // namespace hr::layout::host
