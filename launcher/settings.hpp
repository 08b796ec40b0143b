// `mpiexec --config`, which is also `headrace config`.
#pragma once

namespace hr::launcher {

// Every knob on standard output: name, value, origin, default, and what it is for.
void print_settings();

}  // namespace hr::launcher
