// `mpiexec --config`, also available as `headrace config`.
#pragma once

namespace hr::launcher {

// Prints every knob on standard output: name, value, origin, default, and purpose.
void print_settings();

}  // namespace hr::launcher
