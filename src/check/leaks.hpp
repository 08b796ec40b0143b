// Leaks: reports handles that the program has created and not freed, and knows where each live handle was created.
// Internal to check/. Threads: library lock.
#pragma once

#include "check/call_site.hpp"

namespace hr::check {

// Returns the call site that created the handle; null if it is not known.
const CallSite* made_at(const void* handle);

}  // namespace hr::check
