// Reports the program's use of devices so far without changing it: no context is created or made current.
//
// For checks. Without a usable driver, or before the program has initialised it, the functions return -1, false or 0.
// Threads: library lock; "current" is the calling thread's.
#pragma once

namespace hr::mem::device {

// Returns the device of the calling thread's current context; -1 without one.
[[nodiscard]] int current_device();
// True if the device has a context: its primary one, or a separate one that a run-time library (GCC's) has made
// current. Contexts that are not current are not seen.
[[nodiscard]] bool context_exists(int device);
// Returns a device that has a context: the current context's, else the first with a primary context; -1: none.
[[nodiscard]] int first_device_in_use();
// Number of devices that this process sees.
[[nodiscard]] int devices_seen();

}  // namespace hr::mem::device
