// The transports; among those with equal costs, the first is preferred. A new one needs a folder with a record, and a
// line in record_list.cpp.
#pragma once

#include <span>

#include "transport/transport.hpp"

namespace hr::transport {

std::span<const Record* const> record_list() noexcept;

}  // namespace hr::transport
