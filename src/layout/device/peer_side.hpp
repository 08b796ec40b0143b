// Describes a view for processes that will read it with their GPUs.
//
// Threads: library lock.
#pragma once

#include "base/status.hpp"
#include "layout/device/side.hpp"
#include "layout/view.hpp"
#include "mem/device/ipc.hpp"

namespace hr::layout::device {

// *side: the view's side, with addresses of this process. *list: the memory of the block list that the side points to,
// which readers also need; its id is 0 if there is none.
Status side_for_peers(const View& view, SideShape* side, mem::Location* list);

// Returns the range of addresses of the view's data.
[[nodiscard]] mem::device::Range addresses_of(const View& view) noexcept;

// True if a kernel on the device of `near` may also access `other`, a view of this process.
[[nodiscard]] bool can_access(const mem::Location& near, const View& other);
// True if there are kernels that can move data on the device of `near`.
[[nodiscard]] bool has_copy_kernels(const mem::Location& near);

}  // namespace hr::layout::device
