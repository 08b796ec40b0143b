#include "layout/device/side.hpp"

#include <algorithm>
#include <bit>

#include "base/statistics.hpp"
#include "layout/canonical.hpp"
#include "layout/device/block_list.hpp"

namespace hr::layout::device {
namespace {

using kernels::CopyArguments;
using kernels::Divisor;
using kernels::Side;

constexpr std::uint64_t kNarrowElements = std::uint64_t{1} << 31;
constexpr unsigned kMostBlocks = 1U << 20;  // more than any device runs at once

// n / value == (n * multiplier) >> shift for n < 2^31 (the error of the rounded-up multiplier stays below one part
// in 2^31 of the value).
Divisor divisor(std::uint64_t value) noexcept {
  Divisor made{value, 0, 0};
  if (value == 0 || value >= kNarrowElements) return made;
  const auto log2 = static_cast<unsigned>(std::bit_width(value - 1));
  made.shift = 31 + log2;
  made.multiplier = static_cast<std::uint32_t>((std::uint64_t{1} << made.shift) / value + 1);
  return made;
}

// Returns the widest access for addresses and distances that are multiples of the lowest set bit of `bits`.
std::uint32_t widest(std::uint64_t bits) noexcept {
  bits |= 16;
  return static_cast<std::uint32_t>(bits & -bits);
}

void fill(const SideShape& shape, std::size_t first, unsigned width, Side* side) noexcept {
  side->ndims = shape.ndims;
  if (shape.linear()) {
    // The address of the element that contains packed byte `first`, which is always inside the allocation.
    side->origin = first / width;
    side->address = shape.address + (first - shape.first) - first % width;
    return;
  }
  side->address = shape.address;
  side->pattern = divisor(shape.pattern / width);
  for (int d = 0; d < shape.ndims; ++d) side->dims[d] = {divisor(shape.dims[d].count), shape.dims[d].stride};
  side->blocks = shape.blocks;
  side->index = shape.index;
  side->index_shift = static_cast<std::uint32_t>(shape.index_shift);
  side->block_elements = divisor(shape.uniform / width);
}

struct Kernel {
  unsigned width;
  const char* name;
};
constexpr Kernel kKernels[] = {
    {1, "hr_copy_1"}, {2, "hr_copy_2"}, {4, "hr_copy_4"}, {8, "hr_copy_8"}, {16, "hr_copy_16"}};

}  // namespace

Status side_of(const View& view, mem::device::Context& context, SideShape* side) {
  static_assert(kMaxShapeDims == kernels::kSideDims);
  *side = SideShape{};
  if (view.contiguous) {
    side->address = reinterpret_cast<std::uintptr_t>(view.data());
    side->unit = widest(side->address);
    return kOk;
  }
  const Shape shape = shape_of(view.type->layout(), view.count);
  const auto base = reinterpret_cast<std::uintptr_t>(view.address);
  side->unit = widest(base | shape.unit);
  side->total = static_cast<std::uint64_t>(shape.total);
  side->pattern = static_cast<std::uint64_t>(shape.pattern);
  side->ndims = shape.ndims;
  for (int d = 0; d < shape.ndims; ++d) {
    const Dim& dim = shape.dims[shape.ndims - 1 - d];
    side->dims[d] = {static_cast<std::uint64_t>(dim.count), dim.stride};
  }
  if (shape.form != Form::kBlocks) {
    side->address = base + static_cast<std::uint64_t>(shape.offset);
    return kOk;
  }
  BlockList::Resident list;
  HR_TRY(BlockList::of(*shape.layout, context, &list));
  side->address = base + static_cast<std::uint64_t>(shape.layout->blocks[0].offset);
  side->uniform = static_cast<std::uint64_t>(shape.layout->uniform);
  side->blocks = list.blocks;
  side->index = list.index;
  side->index_shift = list.index_shift;
  return kOk;
}

SideShape packed_side(mem::device::DeviceAddress address, std::size_t first) noexcept {
  SideShape side;
  side.address = address;
  side.first = first;
  side.unit = widest(address - first);
  return side;
}

bool reachable(mem::device::Context& context, const View& other, mem::device::Context& other_context) {
  if (&context == &other_context) return true;
  return other.where.context != nullptr && !other.where.managed && context.can_access(other_context);
}

bool has_copy_kernels(mem::device::Context& context) {
  mem::device::FunctionHandle function = nullptr;
  return context.kernel(kKernels[0].name, &function).ok() && function != nullptr;
}

kernels::CopyArguments copy_arguments(const SideShape& from, const SideShape& to, std::size_t first,
                                      std::size_t bytes) noexcept {
  const unsigned width = std::min(from.unit, to.unit);
  CopyArguments args{};
  args.first = first;
  args.last = first + bytes;
  fill(from, first, width, &args.from);
  fill(to, first, width, &args.to);
  args.width = static_cast<std::uint16_t>(width);
  if (std::max(from.total, to.total) / width >= kNarrowElements) args.wide = 1;
  const std::uint64_t elements = bytes / width + 2;
  const std::uint64_t blocks = (elements + kernels::kCopyThreads - 1) / kernels::kCopyThreads;
  args.blocks = static_cast<std::uint32_t>(std::min<std::uint64_t>(blocks, kMostBlocks));
  return args;
}

unsigned copy_blocks(const mem::device::Context& context) noexcept {
  return std::min(kMostBlocks, static_cast<unsigned>(context.multiprocessors()) * 8);
}

Status launch_copy(mem::device::Context& context, mem::device::StreamHandle stream, const SideShape& from,
                   const SideShape& to, std::size_t first, std::size_t bytes, bool* launched) {
  *launched = false;
  CopyArguments args = copy_arguments(from, to, first, bytes);
  const Kernel& kernel = kKernels[std::countr_zero(unsigned{args.width})];
  mem::device::FunctionHandle function = nullptr;
  HR_TRY(context.kernel(kernel.name, &function));
  if (function == nullptr) return kOk;
  const unsigned blocks = std::min(args.blocks, copy_blocks(context));
  void* parameters[] = {&args};
  HR_DEVICE(context.device(), launch,
            (function, blocks, 1, 1, kernels::kCopyThreads, 1, 1, 0, stream, parameters, nullptr),
            "kernel %s, %zu bytes", kernel.name, bytes);
  *launched = true;
  add(Statistic::device_copy_launches);
  return kOk;
}

}  // namespace hr::layout::device
