// halo3d's kernels: updates, packing and unpacking of boxes. Elements are moved as words of their size, never computed
// with. A launch covers either a box or all planes that face neighbours. For a box, the grid of threads is
// three-dimensional, and its z extent counts the planes of all fields consecutively.
#include "portability.hpp"

namespace {

// Plain 32-bit members, so that the fake driver mistakes none of them for an address.
struct Region {
  unsigned row, plane;        // strides of a field, in elements
  unsigned volume;            // elements of a field
  unsigned lo[3], extent[3];  // the box
  unsigned fields;            // number of consecutive fields
};

struct Place {
  bool inside;
  std::size_t element;  // index of an element in the fields
  std::size_t packed;   // index of the element in the contiguous buffer
};

HR_DEVICE Place place_of(const Region& region, unsigned x, unsigned y, unsigned zf) {
  Place place{};
  place.inside = x < region.extent[0] && y < region.extent[1] && zf < region.extent[2] * region.fields;
  if (place.inside) {
    const unsigned field = zf / region.extent[2], z = zf % region.extent[2];
    place.element = static_cast<std::size_t>(field) * region.volume +
                    static_cast<std::size_t>(region.lo[2] + z) * region.plane +
                    static_cast<std::size_t>(region.lo[1] + y) * region.row + region.lo[0] + x;
    place.packed = (static_cast<std::size_t>(zf) * region.extent[1] + y) * region.extent[0] + x;
  }
  return place;
}

#define HERE(region)                                                                            \
  place_of(region, blockIdx.x* blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y, \
           blockIdx.z * blockDim.z + threadIdx.z)

template <class Word>
HR_DEVICE void pack(const Word* fields, Word* packed, const Place& place) {
  if (place.inside) packed[place.packed] = fields[place.element];
}
template <class Word>
HR_DEVICE void unpack(Word* fields, const Word* packed, const Place& place) {
  if (place.inside) fields[place.element] = packed[place.packed];
}
// `back`: distance in elements to the neighbour whose value moves here.
template <class Word>
HR_DEVICE void shift(const Word* from, Word* to, int back, const Place& place) {
  if (place.inside) to[place.element] = from[static_cast<std::ptrdiff_t>(place.element) - back];
}

// Faces. The update of the inner points occupies every thread slot, so other kernels progress only as its threads end.
// Kernels that run concurrently with it therefore use few threads, each with many loads in flight.
constexpr unsigned kDeep = 8;  // rows of a plane that a thread moves

struct Block {
  unsigned row, plane, volume;  // strides of a field and its elements
  unsigned points[3];           // number of points without the halo
};
struct Faces {
  void* face[3][2];  // faces by axis and way
};

// One thread's part of the plane at coordinate 0 along an axis: a column of at most kDeep elements.
struct Column {
  unsigned count;             // 0: outside
  std::size_t element, step;  // first element in a field, and the stride to the next
  std::size_t packed, width;  // first element and stride in a contiguous plane
  std::size_t size;           // number of elements in the plane
  std::size_t stride;         // distance to the next plane along the axis
};

HR_DEVICE Column column_of(const Block& block, unsigned axis) {
  const unsigned width = axis == 0 ? block.points[1] : block.points[0];
  const unsigned rows = axis == 2 ? block.points[1] : block.points[2];
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = (blockIdx.y * blockDim.y + threadIdx.y) * kDeep;
  Column column{};
  if (x >= width || y >= rows) return column;
  const std::size_t across = axis == 0 ? block.row : 1;
  column.count = rows - y < kDeep ? rows - y : kDeep;
  column.step = axis == 2 ? block.row : block.plane;
  column.element = (x + 1) * across + (y + 1) * column.step;
  column.packed = static_cast<std::size_t>(y) * width + x;
  column.width = width;
  column.size = static_cast<std::size_t>(rows) * width;
  column.stride = axis == 0 ? 1 : axis == 1 ? block.row : block.plane;
  return column;
}

// The z extent of a launch counts axes and fields. One thread packs for both directions of an axis: along x, a row's
// last element and the next row's first are mostly in the same sector of memory.
template <class Word>
HR_DEVICE void pack_faces(const Word* fields, const Faces& to, const Block& block) {
  const unsigned axis = blockIdx.z / 3, field = blockIdx.z % 3;
  const Column column = column_of(block, axis);
  const Word* low = fields + static_cast<std::size_t>(field) * block.volume + column.element + column.stride;
  const Word* high = low + (block.points[axis] - 1) * column.stride;
  const std::size_t packed = field * column.size + column.packed;
  Word* up = static_cast<Word*>(to.face[axis][0]) + packed;
  Word* down = static_cast<Word*>(to.face[axis][1]) + packed;
  Word highs[kDeep] = {}, lows[kDeep] = {};
  HR_UNROLL
  for (unsigned n = 0; n < kDeep; ++n) {
    if (n < column.count) {
      highs[n] = high[n * column.step];
      lows[n] = low[n * column.step];
    }
  }
  HR_UNROLL
  for (unsigned n = 0; n < kDeep; ++n) {
    if (n < column.count) {
      up[n * column.width] = highs[n];
      down[n * column.width] = lows[n];
    }
  }
}

// Sets each field's boundary plane along its own axis to the values received for it. The z extent of a launch counts
// fields.
template <class Word>
HR_DEVICE void take_faces(Word* fields, const Faces& arrived, unsigned way, const Block& block) {
  const unsigned axis = blockIdx.z;
  const Column column = column_of(block, axis);
  const std::size_t coordinate = way == 0 ? 1 : block.points[axis];
  Word* to = fields + static_cast<std::size_t>(axis) * block.volume + column.element + coordinate * column.stride;
  const Word* from = static_cast<const Word*>(arrived.face[axis][way]) + axis * column.size + column.packed;
  Word values[kDeep] = {};
  HR_UNROLL
  for (unsigned n = 0; n < kDeep; ++n) {
    if (n < column.count) values[n] = from[n * column.width];
  }
  HR_UNROLL
  for (unsigned n = 0; n < kDeep; ++n) {
    if (n < column.count) to[n * column.step] = values[n];
  }
}

}  // namespace

HR_KERNEL(halo3d_pack4, (const std::uint32_t* fields, std::uint32_t* packed, Region region)) {
  pack(fields, packed, HERE(region));
}
HR_KERNEL(halo3d_pack8, (const std::uint64_t* fields, std::uint64_t* packed, Region region)) {
  pack(fields, packed, HERE(region));
}
HR_KERNEL(halo3d_unpack4, (std::uint32_t* fields, const std::uint32_t* packed, Region region)) {
  unpack(fields, packed, HERE(region));
}
HR_KERNEL(halo3d_unpack8, (std::uint64_t* fields, const std::uint64_t* packed, Region region)) {
  unpack(fields, packed, HERE(region));
}
HR_KERNEL(halo3d_shift4, (const std::uint32_t* from, std::uint32_t* to, int back, Region region)) {
  shift(from, to, back, HERE(region));
}
HR_KERNEL(halo3d_shift8, (const std::uint64_t* from, std::uint64_t* to, int back, Region region)) {
  shift(from, to, back, HERE(region));
}
HR_KERNEL(halo3d_pack_faces4, (const std::uint32_t* fields, HR_CONSTANT Faces to, HR_CONSTANT Block block)) {
  pack_faces(fields, to, block);
}
HR_KERNEL(halo3d_pack_faces8, (const std::uint64_t* fields, HR_CONSTANT Faces to, HR_CONSTANT Block block)) {
  pack_faces(fields, to, block);
}
HR_KERNEL(halo3d_take_faces4,
          (std::uint32_t* fields, HR_CONSTANT Faces arrived, unsigned way, HR_CONSTANT Block block)) {
  take_faces(fields, arrived, way, block);
}
HR_KERNEL(halo3d_take_faces8,
          (std::uint64_t* fields, HR_CONSTANT Faces arrived, unsigned way, HR_CONSTANT Block block)) {
  take_faces(fields, arrived, way, block);
}
