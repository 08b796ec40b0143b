// Prints the table of options as JSON (`mpiexec --list-options`), from which shell completions are generated.
#pragma once

namespace hr::launcher {

void list_options();

}  // namespace hr::launcher
