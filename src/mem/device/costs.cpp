#include "mem/device/costs.hpp"

namespace hr::mem::device {
namespace {

constinit Costs current;

}  // namespace

const Costs& costs() noexcept { return current; }

void set_costs(const Costs& costs) noexcept { current = costs; }

}  // namespace hr::mem::device
