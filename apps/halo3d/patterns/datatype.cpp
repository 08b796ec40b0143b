// Step 0: a separate MPI_Sendrecv for each field, axis and way, with planes as datatypes.
#include "pattern.hpp"
#include "patterns/typed_planes.hpp"

namespace halo3d {
namespace {

class Datatype final : public Pattern {
 public:
  explicit Datatype(const Setup& setup) : Pattern(setup), planes_(setup.decomposition.shape()) {}

  void exchange() override {
    const Decomposition& ranks = setup_.decomposition;
    const Shape& shape = ranks.shape();
    const std::size_t field_bytes = shape.volume() * static_cast<std::size_t>(shape.element_bytes);
    for (int axis = 0; axis < kAxes; ++axis) {
      const Stopwatch watch(setup_.times.mpi[axis]);
      for (int field = 0; field < kFields; ++field) {
        char* base = static_cast<char*>(setup_.backend.fields()) + static_cast<std::size_t>(field) * field_bytes;
        for (int way = 0; way < kWays; ++way) {
          const int tag = (field * kAxes + axis) * kWays + way;
          MPI_Sendrecv(base, 1, planes_.send(axis, way), ranks.neighbour(axis, way), tag, base, 1,
                       planes_.receive(axis, way), ranks.neighbour(axis, 1 - way), tag, ranks.comm(),
                       MPI_STATUS_IGNORE);
          setup_.times.messages += 1;
          setup_.times.bytes +=
              static_cast<double>(send_box(shape, axis, way).volume()) * static_cast<double>(shape.element_bytes);
        }
      }
    }
  }

 private:
  TypedPlanes planes_;
};

}  // namespace

extern const PatternRecord kDatatype;
const PatternRecord kDatatype = {
    "datatype", 0, 0, "MPI_Sendrecv of each plane of each field as a datatype",
    [](const Setup& setup) -> std::unique_ptr<Pattern> { return std::make_unique<Datatype>(setup); }};

}  // namespace halo3d
