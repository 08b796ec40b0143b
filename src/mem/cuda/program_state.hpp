// The program's use of CUDA so far, asked for without changing it: no context is made or made current.
//
// For checks. Without a usable driver, or before the program has initialised it, there is nothing: -1, false, 0.
// Threads: library lock; "current" is the calling thread's.
#pragma once

namespace hr::mem::cuda {

// Returns the device of the calling thread's current context; -1 without one.
[[nodiscard]] int current_device();
// True if the device has a context: its primary one, or one of its own that a run-time library (GCC's) has made
// current. Others that are current nowhere are not seen.
[[nodiscard]] bool context_exists(int device);
// Returns the first device that has a context: the current one's, else the first with a primary context; -1: none.
[[nodiscard]] int first_device_in_use();
// Number of devices that this process sees.
[[nodiscard]] int devices_seen();

}  // namespace hr::mem::cuda
