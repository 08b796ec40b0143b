// Step 1: like step 0, but the x planes, which are single elements far apart, are packed by hand.
#include "pattern.hpp"
#include "patterns/typed_planes.hpp"

namespace halo3d {
namespace {

class PackedX final : public Pattern {
 public:
  explicit PackedX(const Setup& setup) : Pattern(setup), planes_(setup.decomposition.shape()) {
    const Shape& shape = setup.decomposition.shape();
    elements_ = send_box(shape, 0, 0).volume();
    send_ = setup.backend.allocate(elements_ * static_cast<std::size_t>(shape.element_bytes));
    receive_ = setup.backend.allocate(elements_ * static_cast<std::size_t>(shape.element_bytes));
  }

  void exchange() override {
    for (int field = 0; field < kFields; ++field) {
      for (int way = 0; way < kWays; ++way) exchange_x(field, way);
    }
    for (int axis = 1; axis < kAxes; ++axis) exchange_typed(axis);
  }

 private:
  void count(std::size_t elements) {
    setup_.times.messages += 1;
    setup_.times.bytes +=
        static_cast<double>(elements) * static_cast<double>(setup_.decomposition.shape().element_bytes);
  }

  void exchange_x(int field, int way) {
    const Decomposition& ranks = setup_.decomposition;
    const Shape& shape = ranks.shape();
    {
      const Stopwatch watch(setup_.times.pack[0]);
      setup_.backend.pack(send_box(shape, 0, way), field, 1, send_);
      setup_.backend.wait();
    }
    {
      const Stopwatch watch(setup_.times.mpi[0]);
      const int length = static_cast<int>(elements_), tag = field * kWays + way;
      MPI_Sendrecv(send_, length, element_type(shape), ranks.neighbour(0, way), tag, receive_, length,
                   element_type(shape), ranks.neighbour(0, 1 - way), tag, ranks.comm(), MPI_STATUS_IGNORE);
      count(elements_);
    }
    const Stopwatch watch(setup_.times.unpack[0]);
    setup_.backend.unpack(receive_box(shape, 0, way), field, 1, receive_);
    setup_.backend.wait();
  }

  void exchange_typed(int axis) {
    const Decomposition& ranks = setup_.decomposition;
    const Shape& shape = ranks.shape();
    const Stopwatch watch(setup_.times.mpi[axis]);
    for (int field = 0; field < kFields; ++field) {
      char* base = static_cast<char*>(setup_.backend.fields()) +
                   static_cast<std::size_t>(field) * shape.volume() * static_cast<std::size_t>(shape.element_bytes);
      for (int way = 0; way < kWays; ++way) {
        const int tag = (field * kAxes + axis) * kWays + way;
        MPI_Sendrecv(base, 1, planes_.send(axis, way), ranks.neighbour(axis, way), tag, base, 1,
                     planes_.receive(axis, way), ranks.neighbour(axis, 1 - way), tag, ranks.comm(), MPI_STATUS_IGNORE);
        count(send_box(shape, axis, way).volume());
      }
    }
  }

  TypedPlanes planes_;
  std::size_t elements_;
  void *send_, *receive_;
};

}  // namespace

extern const PatternRecord kPackedX;
const PatternRecord kPackedX = {
    "packed-x", 1, kNone, "as datatype, the x planes packed by hand",
    [](const Setup& setup) -> std::unique_ptr<Pattern> { return std::make_unique<PackedX>(setup); }};

}  // namespace halo3d
