// Prepares the environment for all tests of this program. Called once, by main().
#pragma once

namespace hr {
void prepare_knob_environment();
}  // namespace hr
