// copy: moves a range of packed bytes between two sides, each of which is strided, listed or linear: packs, unpacks,
// and copies from one layout directly into another. There is one kernel per element width, and one that performs
// several copies at once.
#include "copy_arguments.hpp"
#include "portability.hpp"

namespace {

using namespace hr::kernels;

struct alignas(16) Bytes16 {
  std::uint64_t low, high;
};

template <bool kWide>
HR_DEVICE std::uint64_t divide(std::uint64_t n, const Divisor& by) {
  if constexpr (kWide) return n / by.value;
  return (n * by.multiplier) >> by.shift;  // the product fits, as n < 2^31
}

// Returns the index of the listed block that contains packed byte `at` of the pattern.
template <bool kWide>
HR_DEVICE std::uint64_t find_block(const Side& side, std::uint64_t element, std::uint64_t at) {
  if (side.block_elements.value != 0) return divide<kWide>(element, side.block_elements);
  const ListedBlock* blocks = reinterpret_cast<const ListedBlock*>(side.blocks);
  const std::uint32_t* index = reinterpret_cast<const std::uint32_t*>(side.index);
  std::uint32_t low = index[at >> side.index_shift];
  std::uint32_t high = index[(at >> side.index_shift) + 1];
  HR_NO_UNROLL
  while (low < high) {
    const std::uint32_t middle = (low + high + 1) / 2;
    if (blocks[middle].packed <= at) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Returns the address of the n-th element of the packed form.
template <int kWidth, bool kWide>
HR_DEVICE std::uint64_t locate(const Side& side, std::uint64_t n) {
  if (side.ndims < 0) return side.address + (n - side.origin) * kWidth;
  std::uint64_t rest = divide<kWide>(n, side.pattern);
  const std::uint64_t element = n - rest * side.pattern.value;
  std::uint64_t address = side.address;
  HR_NO_UNROLL
  for (int d = 0; d < side.ndims; ++d) {
    const std::uint64_t outer = d == side.ndims - 1 ? 0 : divide<kWide>(rest, side.dims[d].count);
    address += (rest - outer * side.dims[d].count.value) * static_cast<std::uint64_t>(side.dims[d].stride);
    rest = outer;
  }
  const std::uint64_t at = element * kWidth;
  if (side.blocks == 0) return address + at;
  const ListedBlock& block = reinterpret_cast<const ListedBlock*>(side.blocks)[find_block<kWide>(side, element, at)];
  return address + static_cast<std::uint64_t>(block.offset) + (at - block.packed);
}

// Copies the bytes of [first, last) outside the whole elements [begin, end): less than one element at either end.
template <int kWidth, bool kWide>
HR_DEVICE void copy_ends(const CopyArguments& args, std::uint64_t begin, std::uint64_t end) {
  HR_NO_UNROLL
  for (std::uint64_t at = args.first; at < args.last; ++at) {
    if (at == begin * kWidth && begin < end) at = end * kWidth;
    if (at >= args.last) break;
    const std::uint64_t n = at / kWidth;
    const std::uint64_t inside = at % kWidth;
    *reinterpret_cast<unsigned char*>(locate<kWidth, kWide>(args.to, n) + inside) =
        *reinterpret_cast<const unsigned char*>(locate<kWidth, kWide>(args.from, n) + inside);
  }
}

// Copies the share of thread block `block`, one of `blocks`.
template <class Element, bool kWide>
HR_DEVICE void copy_range(const CopyArguments& args, unsigned block, unsigned blocks) {
  constexpr int kWidth = sizeof(Element);
  constexpr unsigned kInFlight = kWide ? 1 : kCopyUnroll;  // small code for the rare wide form
  const std::uint64_t begin = (args.first + kWidth - 1) / kWidth;
  const std::uint64_t end = args.last / kWidth;
  const std::uint64_t step = std::uint64_t{blocks} * blockDim.x;
  const std::uint64_t thread = std::uint64_t{block} * blockDim.x + threadIdx.x;

  HR_NO_UNROLL
  for (std::uint64_t n = begin + thread; n < end; n += step * kInFlight) {
    Element values[kInFlight];
    HR_UNROLL
    for (unsigned k = 0; k < kInFlight; ++k) {
      if (n + k * step < end) {
        values[k] = *reinterpret_cast<const Element*>(locate<kWidth, kWide>(args.from, n + k * step));
      }
    }
    HR_UNROLL
    for (unsigned k = 0; k < kInFlight; ++k) {
      if (n + k * step < end) *reinterpret_cast<Element*>(locate<kWidth, kWide>(args.to, n + k * step)) = values[k];
    }
  }

  if (kWidth > 1 && thread == 0) copy_ends<kWidth, kWide>(args, begin, end);
}

template <class Element>
HR_DEVICE void copy_elements(const CopyArguments& args, unsigned block, unsigned blocks) {
  if (args.wide != 0) {
    copy_range<Element, true>(args, block, blocks);
  } else {
    copy_range<Element, false>(args, block, blocks);
  }
}

HR_DEVICE void copy_piece(const CopyBatch& batch) {
  unsigned block = blockIdx.x;
  unsigned piece = 0;
  HR_NO_UNROLL
  for (; block >= batch.pieces[piece].blocks; ++piece) block -= batch.pieces[piece].blocks;
  const CopyArguments& args = batch.pieces[piece];
  switch (args.width) {
    case 1:
      return copy_elements<std::uint8_t>(args, block, args.blocks);
    case 2:
      return copy_elements<std::uint16_t>(args, block, args.blocks);
    case 4:
      return copy_elements<std::uint32_t>(args, block, args.blocks);
    case 8:
      return copy_elements<std::uint64_t>(args, block, args.blocks);
    default:
      return copy_elements<Bytes16>(args, block, args.blocks);
  }
}

}  // namespace

HR_KERNEL(hr_copy_1, (HR_CONSTANT hr::kernels::CopyArguments args)) {
  copy_elements<std::uint8_t>(HR_FIRST(args), blockIdx.x, gridDim.x);
}
HR_KERNEL(hr_copy_2, (HR_CONSTANT hr::kernels::CopyArguments args)) {
  copy_elements<std::uint16_t>(HR_FIRST(args), blockIdx.x, gridDim.x);
}
HR_KERNEL(hr_copy_4, (HR_CONSTANT hr::kernels::CopyArguments args)) {
  copy_elements<std::uint32_t>(HR_FIRST(args), blockIdx.x, gridDim.x);
}
HR_KERNEL(hr_copy_8, (HR_CONSTANT hr::kernels::CopyArguments args)) {
  copy_elements<std::uint64_t>(HR_FIRST(args), blockIdx.x, gridDim.x);
}
HR_KERNEL(hr_copy_16, (HR_CONSTANT hr::kernels::CopyArguments args)) {
  copy_elements<Bytes16>(HR_FIRST(args), blockIdx.x, gridDim.x);
}
HR_KERNEL(hr_copy_batch, (HR_CONSTANT hr::kernels::CopyBatch batch)) { copy_piece(HR_FIRST(batch)); }
