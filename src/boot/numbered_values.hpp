// Values of many processes in one request to the launcher, for keys that differ only in a number.
//
// Only our own launcher supports such requests. Threads: library lock.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hr::boot {

// Gets the values of the keys in which the numbers first to first + count - 1 replace the '*' in `key`, after the
// exchange. An empty string stands for an unknown value: call get() to determine whether it was put. Errors: the
// launcher's.
Status get_numbered(std::string_view key, int first, int count, std::vector<std::string>* values);

}  // namespace hr::boot
