#include "layout/host/window.hpp"

#include <algorithm>

namespace hr::layout::host {

bool make_window(std::span<const Block> blocks, Count stride, Window* window) {
  constexpr Count kBytes = 64;
  *window = Window{};
  window->stride = stride;
  if (blocks.empty() || blocks.size() > kBytes) return false;
  Count lowest = blocks[0].offset, end = blocks[0].offset;
  for (const Block& block : blocks) {
    if (block.length > kBytes) return false;
    lowest = std::min(lowest, block.offset);
    end = std::max(end, block.offset + block.length);
    window->pattern += block.length;
  }
  const Count span = end - lowest;
  if (span > kBytes || window->pattern > kBytes) return false;
  window->lowest = lowest;
  Count packed = 0;
  for (const Block& block : blocks) {
    for (Count i = 0; i < block.length; ++i, ++packed) {
      const Count place = block.offset - lowest + i;
      const std::uint64_t bit = std::uint64_t{1} << place;
      if ((window->bytes & bit) != 0) return false;
      window->bytes |= bit;
      window->gather[packed] = static_cast<std::uint8_t>(place);
      window->scatter[place] = static_cast<std::uint8_t>(packed);
    }
  }
  window->patterns = 1;
  if (stride < span) return true;  // patterns that interleave are moved one at a time
  window->patterns = std::min((kBytes - span) / stride + 1, kBytes / window->pattern);
  for (Count i = 1; i < window->patterns; ++i) {
    for (Count byte = 0; byte < packed; ++byte) {
      const Count place = window->gather[byte] + i * stride;
      window->gather[i * packed + byte] = static_cast<std::uint8_t>(place);
      window->scatter[place] = static_cast<std::uint8_t>(i * packed + byte);
    }
  }
  return true;
}

}  // namespace hr::layout::host
