// Buffers: what the program must not do with a buffer while an operation uses it (MPI 5.0 section 3.7.2): change what
// is being sent, or use what is being received. Internal to check/. Threads: library lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/call.hpp"
#include "coll/call.hpp"

namespace hr::check {

// Of one call: they must not overlap each other, nor what operations use that are not complete.
Status look_at_use(std::vector<Buffer>& buffers);
// What the buffers that are only read hold now, or those that are written; whether one holds something else since.
void remember(std::vector<Buffer>& buffers, bool written = false);
[[nodiscard]] bool has_changed(const Buffer& buffer);
// From when the operation is started to when it is complete.
void note_in_use(const Operation& operation);
void note_free(const Operation& operation);
[[nodiscard]] std::uintptr_t first_byte(const Buffer& buffer);
[[nodiscard]] bool is_host(const Buffer& buffer);
// "0x7ffd..."
std::string pointer(const void* address);

// The buffers of a collective operation: become the call's. Errors: as of other calls.
Status look_at_buffers(Call& call, const coll::Call& operation);

}  // namespace hr::check
