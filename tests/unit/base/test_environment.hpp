// What must be in place before the first test of this program runs. Called once, by main().
#pragma once

namespace hr {
void prepare_knob_environment();
}  // namespace hr
