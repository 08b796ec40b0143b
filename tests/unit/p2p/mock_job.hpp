// A job whose other processes are mocks: this program is rank 0 of `size`, and simulates the others.
#pragma once

#include "mock_transport/mock.hpp"

namespace hr::mock_job {

inline constexpr int kSize = 4;

// Must be called before boot::init().
void set_size(int size) noexcept;

}  // namespace hr::mock_job
