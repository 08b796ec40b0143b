#include "layout/host/loops.hpp"
#include "layout/host/moves_sets.hpp"

namespace hr::layout::host {

constinit const Moves kAvx512Moves = make_moves("avx512");

}  // namespace hr::layout::host
