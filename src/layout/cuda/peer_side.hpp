// Describes a view for processes that will read it by their GPUs.
//
// Threads: library lock.
#pragma once

#include "base/status.hpp"
#include "layout/cuda/side.hpp"
#include "layout/view.hpp"
#include "mem/cuda/ipc.hpp"

namespace hr::layout::cuda {

// *side: has addresses of this process. *list: the memory of the block list that the side points to, which readers
// need, too; its id is 0 if there is none.
Status side_for_peers(const View& view, SideShape* side, mem::Location* list);

// Returns the addresses of its data.
[[nodiscard]] mem::cuda::Range addresses_of(const View& view) noexcept;

// True if a kernel that works on `near` may touch `other`, memory of this process, too.
[[nodiscard]] bool can_access(const mem::Location& near, const View& other);
// True if kernels can move data there.
[[nodiscard]] bool has_copy_kernels(const mem::Location& near);

}  // namespace hr::layout::cuda
