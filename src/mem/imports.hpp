// Imports: searches the dynamic loader's tables for functions imported by the program and its libraries.
//
// For checks that must not start a run-time library that the program does not use. Threads: library lock.
#pragma once

#include <initializer_list>
#include <string_view>

namespace hr::mem {

// True if any loaded object imports a function whose name begins with one of `prefixes`.
[[nodiscard]] bool anyone_imports(std::initializer_list<std::string_view> prefixes);

}  // namespace hr::mem
