#include "layout/host/loops.hpp"
#include "layout/host/moves_sets.hpp"

namespace hr::layout::host {

constinit const Moves kPlainMoves = make_moves("plain");

}  // namespace hr::layout::host
