// copy_arguments.hpp: arguments of the copy kernels; shared by the kernels and the code that launches them.
//
// A copy moves elements of `width` bytes from one side to the other. A side describes where the n-th element of the
// packed form is: dims[] (innermost first) repeat a pattern of one segment or of listed blocks, or the side is the
// packed form itself (linear). Every segment, block and stride is a multiple of the width, so an element never crosses
// a boundary. Several copies, of different widths, may share a launch.
#pragma once

#include <cstdint>

namespace hr::kernels {

// Quotient by a constant for numerators below 2^31: (n * multiplier) >> shift.
struct Divisor {
  std::uint64_t value;
  std::uint32_t multiplier;
  std::uint32_t shift;
};

struct ListedBlock {
  std::int64_t offset;   // bytes from the side's address
  std::uint64_t packed;  // packed offset in the pattern, in bytes
};

struct SideDim {
  Divisor count;
  std::int64_t stride;  // bytes
};

inline constexpr int kSideDims = 5;

struct Side {
  std::uint64_t address;  // address of element `origin` (linear) or of the first segment, or base of the block offsets
  std::uint64_t blocks;   // const ListedBlock*; 0: the pattern is one segment
  std::uint64_t index;    // const uint32_t*: for every 2^index_shift packed bytes, the block with the first byte
  std::uint64_t origin;   // linear: number of the first element at `address`
  std::uint32_t index_shift;
  std::int32_t ndims;      // -1: linear
  Divisor pattern;         // elements of one pattern
  Divisor block_elements;  // elements of each block if all have the same number, else value 0
  SideDim dims[kSideDims];
};

struct CopyArguments {
  Side from;
  Side to;
  std::uint64_t first;  // packed bytes [first, last)
  std::uint64_t last;
  std::uint32_t blocks;  // number of thread blocks for this copy in a batch
  std::uint16_t width;   // 1, 2, 4, 8 or 16
  std::uint16_t wide;    // nonzero: element numbers may exceed 2^31, so divide in 64 bits
};

// Largest number of copies in one launch: as many as fit into the 4 KiB of a kernel's parameters. The first
// pieces[0].blocks blocks of the grid belong to the first copy, the next ones to the second, and so on.
inline constexpr unsigned kCopyBatch = 10;

struct CopyBatch {
  CopyArguments pieces[kCopyBatch];
};
static_assert(sizeof(CopyBatch) <= 4096);

// Number of threads per block, and of elements that a thread has in flight.
inline constexpr unsigned kCopyThreads = 256;
inline constexpr unsigned kCopyUnroll = 4;

}  // namespace hr::kernels
