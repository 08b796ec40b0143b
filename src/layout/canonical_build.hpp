// Builds the canonical layout of a typemap. Called once, at commit.
#pragma once

#include <memory>

#include "base/status.hpp"
#include "layout/canonical.hpp"
#include "layout/typemap.hpp"

namespace hr::layout {

// Maximum number of separate segments that a layout may list (24 bytes each); strided segments need no list.
inline constexpr Count kMaxBlocks = Count{1} << 28;

// Errors: MPI_ERR_NO_MEM if an irregular type has more than kMaxBlocks segments.
Status build_layout(const Typemap& map, std::shared_ptr<const Layout>* layout);

}  // namespace hr::layout
