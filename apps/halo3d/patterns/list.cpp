// The list of patterns, in the order of the published series.
#include "pattern.hpp"

namespace halo3d {

extern const PatternRecord kDatatype, kPackedX, kPacked, kStaged, kIsendRecvX, kIsendRecv, kIsendIrecv, kOverlap,
    kOverlapAsync, kOverlapFused, kOverlapNeighbor, kStreams, kGraph;

std::span<const PatternRecord* const> all_patterns() {
  static constexpr const PatternRecord* kList[] = {
      &kDatatype, &kPackedX,      &kStaged,       &kPacked,          &kIsendRecvX, &kIsendRecv, &kIsendIrecv,
      &kOverlap,  &kOverlapAsync, &kOverlapFused, &kOverlapNeighbor, &kStreams,    &kGraph};
  return kList;
}

}  // namespace halo3d
