// A job whose other processes are mock ones: this program is rank 0 of `size`, and plays the others.
#pragma once

#include "transport/mock/mock.hpp"

namespace hr::mock_job {

inline constexpr int kSize = 4;

// Before boot::init().
void set_size(int size) noexcept;

}  // namespace hr::mock_job
