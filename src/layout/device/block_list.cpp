#include "layout/device/block_list.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "copy_arguments.hpp"

namespace hr::layout::device {

Status BlockList::of(const Layout& layout, mem::device::Context& context, Resident* resident) {
  if (layout.device == nullptr) layout.device = std::make_unique<BlockList>();
  auto& copies = static_cast<BlockList&>(*layout.device).copies_;
  const auto known =
      std::find_if(copies.begin(), copies.end(), [&](const Copy& copy) { return copy.memory.belongs_to(context); });
  if (known != copies.end()) {
    *resident = known->resident;
    return kOk;
  }
  Copy copy;
  HR_TRY(upload(layout, context, &copy));
  *resident = copy.resident;
  copies.push_back(std::move(copy));
  return kOk;
}

Status BlockList::upload(const Layout& layout, mem::device::Context& context, Copy* copy) {
  const std::size_t blocks = layout.blocks.size();
  const auto pattern = static_cast<std::uint64_t>(layout.pattern);
  // Uses about as many index entries as blocks: one or two blocks per entry if their lengths are similar.
  std::uint32_t shift = 0;
  while ((pattern >> shift) > 2 * blocks) ++shift;
  const std::size_t entries = (pattern >> shift) + 2;

  const std::size_t list_bytes = blocks * sizeof(kernels::ListedBlock);
  std::vector<std::byte> image(list_bytes + entries * sizeof(std::uint32_t));
  for (std::size_t i = 0; i < blocks; ++i) {
    const kernels::ListedBlock listed{layout.blocks[i].offset - layout.blocks[0].offset,
                                      static_cast<std::uint64_t>(layout.prefix[i])};
    std::memcpy(image.data() + i * sizeof listed, &listed, sizeof listed);
  }
  std::uint32_t block = 0;
  for (std::size_t entry = 0; entry < entries; ++entry) {
    const auto first = static_cast<Count>(std::min<std::uint64_t>(entry << shift, pattern - 1));
    while (block + 1 < blocks && layout.prefix[block + 1] <= first) ++block;
    std::memcpy(image.data() + list_bytes + entry * sizeof block, &block, sizeof block);
  }
  HR_TRY(copy->memory.fill(context, image.data(), image.size()));
  copy->resident = {copy->memory.address(), copy->memory.address() + list_bytes, shift};
  return kOk;
}

}  // namespace hr::layout::device
