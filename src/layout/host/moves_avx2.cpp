#include "layout/host/loops.hpp"
#include "layout/host/moves_sets.hpp"

namespace hr::layout::host {

constinit const Moves kAvx2Moves = make_moves("avx2");

}  // namespace hr::layout::host
