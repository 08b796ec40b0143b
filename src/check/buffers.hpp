// Buffers: detects forbidden uses of a buffer while an operation uses it (MPI 5.0 section 3.7.2): changing a send
// buffer, or using a receive buffer. Internal to check/. Threads: library lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "check/call.hpp"
#include "coll/call.hpp"

namespace hr::check {

// Checks the buffers of one call. A buffer must not overlap another one, or a buffer of an operation in progress,
// unless both are only read.
Status check_use(std::vector<Buffer>& buffers);
// remember(): hashes the current contents of the buffers that are only read, or of the written buffers if `written` is
// true. has_changed(): true if the contents have changed since.
void remember(std::vector<Buffer>& buffers, bool written = false);
[[nodiscard]] bool has_changed(const Buffer& buffer);
// Begin and end the tracking of an operation's buffers, at its start and when it is complete.
void note_in_use(const Operation& operation);
void note_free(const Operation& operation);
[[nodiscard]] std::uintptr_t first_byte(const Buffer& buffer);
[[nodiscard]] bool is_host(const Buffer& buffer);
// Returns "0x7ffd...".
std::string pointer(const void* address);

// Sets the call's buffers to those of a collective operation. Errors: those of check_use().
Status check_buffers(Call& call, const coll::Call& operation);

}  // namespace hr::check
