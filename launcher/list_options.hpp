// What `mpiexec --list-options` prints: the table of options as JSON, from which completions of shells are made.
#pragma once

namespace hr::launcher {

void list_options();

}  // namespace hr::launcher
