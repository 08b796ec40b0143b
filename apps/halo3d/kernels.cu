// halo3d's kernels: updates, packing and unpacking of boxes. Elements are moved as words of their size, never computed
// with. A launch covers a box with a 3D grid of threads; its z extent counts the planes of all fields one behind the
// other.
#include "portability.hpp"

namespace {

// Plain 32-bit members, so that the fake driver takes nothing here for an address.
struct Region {
  unsigned row, plane;        // strides of a field, in elements
  unsigned volume;            // elements of a field
  unsigned lo[3], extent[3];  // the box
  unsigned fields;            // as many of them, one behind the other
};

struct Place {
  bool inside;
  std::size_t element;  // in the fields
  std::size_t packed;   // in the contiguous buffer
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
// `back`: elements to the neighbour whose value is taken.
template <class Word>
HR_DEVICE void shift(const Word* from, Word* to, int back, const Place& place) {
  if (place.inside) to[place.element] = from[static_cast<std::ptrdiff_t>(place.element) - back];
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
