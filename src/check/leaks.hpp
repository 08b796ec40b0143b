// Leaks: handles that the program has made and not given back; and where each live handle was made. Internal to check/.
// Threads: library lock.
#pragma once

#include "check/site.hpp"

namespace hr::check {

// Null: not known.
const Site* made_at(const void* handle);

}  // namespace hr::check
