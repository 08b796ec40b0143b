// Prints the table of options as JSON (`mpiexec --list-options`), from which completions of shells are made.
#pragma once

namespace hr::launcher {

void list_options();

}  // namespace hr::launcher
