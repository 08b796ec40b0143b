// Canonical layout: the meaning of a committed datatype in memory, in the form that both engines read.
//
// One element is   dims[0] x dims[1] x ... x pattern   where the pattern is a list of blocks (contiguous segments) in
// typemap order, and a dimension repeats everything inside it `count` times, `stride` bytes apart, outermost first.
// Packed order is: outermost dimension slowest, blocks of the pattern fastest. Strides and offsets may be negative, and
// blocks may overlap or be in any order of addresses; packed order is always typemap order.
//
//   contiguous:  no dims, one block          vector, subarray:   dims, one block   (Form::kStrided)
//   indexed:     no dims, many blocks        array of structs:   dims, many blocks (Form::kBlocks)
//
// Nested strides are folded: adjacent segments are merged, a dimension that continues its inner one is collapsed,
// and irregular lists are searched for regular strides. A Shape adds an outer dimension for several elements;
// shape_of() builds it on the stack in each call, except the shape of a single element, which is cached.
//
// Owner: the Datatype, through a shared pointer. Lifetime: immutable after commit. Threads: any may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/count.hpp"

namespace hr::layout {

namespace host {
struct RunMoves;
struct Window;
}  // namespace host

// A contiguous segment; `offset` from the element's origin.
struct Block {
  Count offset = 0;
  Count length = 0;
  friend bool operator==(const Block&, const Block&) = default;
};

struct Dim {
  Count count = 1;
  Count stride = 0;  // bytes; may be negative or zero
  friend bool operator==(const Dim&, const Dim&) = default;
};

inline constexpr int kMaxLayoutDims = 4;                  // limit for one element
inline constexpr int kMaxShapeDims = kMaxLayoutDims + 1;  // limit including the elements' own dimension

enum class Form : std::uint8_t {
  kEmpty,       // no bytes
  kContiguous,  // a single block without dims
  kStrided,     // one block with at least one dim
  kBlocks,      // several blocks, any number of dims
};

// State that layout/device stores on devices for a layout (its block list); freed with the layout.
class DeviceMetadata {
 public:
  virtual ~DeviceMetadata() = default;
};

class Layout;

// `count` elements of a layout, in the form over which an engine loops. Borrows the layout.
struct Shape {
  Form form = Form::kEmpty;
  std::uint8_t unit = 16;  // the same as Layout::unit, but for all elements
  int ndims = 0;
  Dim dims[kMaxShapeDims];  // [0] is the outermost; no dim has count 1

  Count total = 0;                 // packed bytes of everything
  Count pattern = 0;               // packed bytes of one pattern
  Count offset = 0;                // kContiguous, kStrided: offset of the first segment from the buffer address
  Count run = 0;                   // kContiguous, kStrided: bytes of each segment; kContiguous: equals total
  const Layout* layout = nullptr;  // null only in kEmpty
};

class Layout {
 public:
  Form form = Form::kEmpty;
  // The largest power of two, at most 16, that divides every block's offset and length and every stride: the widest
  // access that can be used if the buffer's address has that alignment. In a Shape, it also divides the extent.
  std::uint8_t unit = 16;
  int ndims = 0;
  Dim dims[kMaxLayoutDims];  // [0] is the outermost

  Count size = 0;     // data bytes of one element
  Count extent = 0;   // distance between the origins of consecutive elements
  Count pattern = 0;  // data bytes of one pattern: the sum of the blocks' lengths

  std::vector<Block> blocks;  // the pattern; never empty unless kEmpty; no block has length 0
  std::vector<Count> prefix;  // kBlocks: packed offset of each block in the pattern, and `pattern` at the end
  Count uniform = 0;          // kBlocks: the length of every block if they are equal, else 0
  // kBlocks: the same bytes divided into segments of equal length, if there are not many more segments than blocks (as
  // in a list of single elements in which two happen to be adjacent) and the offsets fit. Then one kind of loop
  // suffices, and a list entry takes a quarter of the memory.
  Count piece = 0;  // length of these segments; 0 if there are none
  std::vector<std::int32_t> offsets;
  Count runs = 0;  // number of blocks of one element: product of the dims times blocks.size()

  Shape one;  // shape_of(*this, 1)
  // The host loops for the block, if there is only one, or for the pieces, if there are any; else null.
  const host::RunMoves* moves = nullptr;
  std::shared_ptr<const host::Window> window;  // kBlocks: the pattern; null if no window fits or the host has no loops

  mutable std::unique_ptr<DeviceMetadata> device;
};

// Returns the shape of `count` elements; merges the elements' dimension with the outermost one if the two are
// continuous. The packed size of the elements must not overflow (make_view() has checked this).
Shape shape_of(const Layout& layout, Count count) noexcept;

}  // namespace hr::layout
