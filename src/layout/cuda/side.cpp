#include "layout/cuda/side.hpp"

#include <algorithm>
#include <bit>

#include "layout/canonical.hpp"
#include "layout/cuda/block_list.hpp"

namespace hr::layout::cuda {
namespace {

using kernels::CopyArguments;
using kernels::Divisor;
using kernels::Side;

constexpr std::uint64_t kNarrowElements = std::uint64_t{1} << 31;

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

// The widest access that both the layout and the address allow.
unsigned width_of(const Shape& shape, const std::byte* address) noexcept {
  const std::uint64_t bits = reinterpret_cast<std::uintptr_t>(address) | shape.unit;
  return static_cast<unsigned>(bits & -bits);
}

void fill_linear(mem::cuda::DeviceAddress address, std::size_t first, unsigned width, Side* side) noexcept {
  side->ndims = -1;
  side->origin = first / width;
  side->address = address - first % width;
}

Status fill_side(const View& view, const Shape& shape, mem::cuda::Context& context, unsigned width, Side* side) {
  const auto base = reinterpret_cast<std::uintptr_t>(view.address);
  side->pattern = divisor(static_cast<std::uint64_t>(shape.pattern) / width);
  side->ndims = shape.ndims;
  for (int d = 0; d < shape.ndims; ++d) {
    const Dim& dim = shape.dims[shape.ndims - 1 - d];
    side->dims[d] = {divisor(static_cast<std::uint64_t>(dim.count)), dim.stride};
  }
  if (shape.form != Form::kBlocks) {
    side->address = base + static_cast<std::uint64_t>(shape.offset);
    return kOk;
  }
  BlockList::Resident list;
  HR_TRY(BlockList::of(*shape.layout, context, &list));
  side->address = base + static_cast<std::uint64_t>(shape.layout->blocks[0].offset);
  side->blocks = list.blocks;
  side->index = list.index;
  side->index_shift = list.index_shift;
  side->block_elements = divisor(static_cast<std::uint64_t>(shape.layout->uniform) / width);
  return kOk;
}

struct Kernel {
  unsigned width;
  const char* name;
};
constexpr Kernel kKernels[] = {
    {1, "hr_copy_1"}, {2, "hr_copy_2"}, {4, "hr_copy_4"}, {8, "hr_copy_8"}, {16, "hr_copy_16"}};

}  // namespace

Status launch_copy(mem::cuda::Context& context, const SideSource& from, const SideSource& to, std::size_t first,
                   std::size_t bytes, bool* launched) {
  static_assert(kMaxShapeDims == kernels::kSideDims);
  *launched = false;
  unsigned width = 16;
  Shape shapes[2];
  const SideSource* sources[2] = {&from, &to};
  for (int i = 0; i < 2; ++i) {
    if (const View* view = sources[i]->view; view != nullptr) {
      shapes[i] = shape_of(view->type->layout(), view->count);
      width = std::min(width, width_of(shapes[i], view->address));
    }
  }
  const Kernel& kernel = kKernels[std::countr_zero(width)];
  mem::cuda::FunctionHandle function = nullptr;
  HR_TRY(context.kernel(kernel.name, &function));
  if (function == nullptr) return kOk;

  CopyArguments args{};
  args.first = first;
  args.last = first + bytes;
  Side* sides[2] = {&args.from, &args.to};
  for (int i = 0; i < 2; ++i) {
    if (sources[i]->view == nullptr) {
      fill_linear(sources[i]->address, first, width, sides[i]);
    } else {
      HR_TRY(fill_side(*sources[i]->view, shapes[i], context, width, sides[i]));
      if (static_cast<std::uint64_t>(shapes[i].total) / width >= kNarrowElements) args.wide = 1;
    }
  }
  const std::uint64_t elements = bytes / width + 2;
  const std::uint64_t wanted = (elements + kernels::kCopyThreads - 1) / kernels::kCopyThreads;
  const auto blocks =
      static_cast<unsigned>(std::min<std::uint64_t>(wanted, static_cast<std::uint64_t>(context.multiprocessors()) * 8));
  void* parameters[] = {&args};
  HR_CUDA(context.device(), launch,
          (function, blocks, 1, 1, kernels::kCopyThreads, 1, 1, 0, context.stream(), parameters, nullptr),
          "kernel %s, %zu bytes", kernel.name, bytes);
  *launched = true;
  return kOk;
}

}  // namespace hr::layout::cuda
