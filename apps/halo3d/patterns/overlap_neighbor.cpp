// Beyond the series: like overlap-fused, with one MPI_Neighbor_alltoallv in place of the twelve messages of a step. The
// library sees all faces at once, and need not start a copy for each small face.
#include <array>

#include "pattern.hpp"
#include "patterns/typed_planes.hpp"

namespace halo3d {
namespace {

constexpr int kFaces = kAxes * kWays;

class OverlapNeighbor final : public Pattern {
 public:
  explicit OverlapNeighbor(const Setup& setup) : Pattern(setup), type_(element_type(setup.decomposition.shape())) {
    // Each face starts at a multiple of 256 bytes.
    constexpr int kAlign = 64;
    const Shape& shape = setup.decomposition.shape();
    int total = 0;
    for (int axis = 0; axis < kAxes; ++axis) {
      for (int way = 0; way < kWays; ++way) {
        const int block = 2 * axis + way;
        counts_[block] = static_cast<int>(kFields * send_box(shape, axis, way).volume());
        displacements_[block] = total;
        total += (counts_[block] + kAlign - 1) / kAlign * kAlign;
        bytes_ += static_cast<double>(counts_[block]) * shape.element_bytes;
      }
    }
    const std::size_t bytes = static_cast<std::size_t>(total) * static_cast<std::size_t>(shape.element_bytes);
    send_ = static_cast<char*>(setup.backend.allocate(bytes));
    receive_ = static_cast<char*>(setup.backend.allocate(bytes));
    // A Cartesian communicator's neighbours are the lower and the upper one along each axis (MPI 5.0 section 8.6). A
    // face that goes way 0, upwards, is sent in the upper neighbour's block and arrives in the lower neighbour's
    // block.
    for (int axis = 0; axis < kAxes; ++axis) {
      for (int way = 0; way < kWays; ++way) {
        to_send_[axis][way] = send_ + offset(2 * axis + 1 - way);
        arrived_[axis][way] = receive_ + offset(2 * axis + way);
      }
    }
  }

  void exchange() override {
    setup_.backend.pack_faces(to_send_);
    setup_.backend.wait();
    transfer();
    const Stopwatch watch(setup_.times.unpack[kAxes - 1]);
    for (int axis = 0; axis < kAxes; ++axis) {
      for (int way = 0; way < kWays; ++way) {
        setup_.backend.unpack(receive_box(setup_.decomposition.shape(), axis, way), 0, kFields, arrived_[axis][way]);
      }
    }
    setup_.backend.wait();
  }

  void step() override {
    {
      const Stopwatch watch(setup_.times.pack[kAxes - 1]);  // packing for all directions
      setup_.backend.pack_faces(to_send_);
    }
    {
      const Stopwatch watch(setup_.times.update);
      setup_.backend.update(setup_.way, Part::kInner);
      setup_.backend.wait_for_step();
    }
    {
      const Stopwatch watch(setup_.times.pack[kAxes - 1]);
      setup_.backend.wait();
    }
    transfer();
    const Stopwatch watch(setup_.times.update);
    setup_.backend.update_boundary(setup_.way, arrived_);
    setup_.backend.hand_over_step();
  }

 private:
  std::size_t offset(int block) const {
    return static_cast<std::size_t>(displacements_[block]) *
           static_cast<std::size_t>(setup_.decomposition.shape().element_bytes);
  }

  void transfer() {
    const Stopwatch watch(setup_.times.mpi[kAxes - 1]);  // requests of all directions
    MPI_Neighbor_alltoallv(send_, counts_.data(), displacements_.data(), type_, receive_, counts_.data(),
                           displacements_.data(), type_, setup_.decomposition.comm());
    setup_.times.messages += kFaces;
    setup_.times.bytes += bytes_;
  }

  MPI_Datatype type_;
  std::array<int, kFaces> counts_{}, displacements_{};  // arrays in neighbour order
  char *send_ = nullptr, *receive_ = nullptr;           // the backend owns them
  Faces to_send_{}, arrived_{};
  double bytes_ = 0;
};

}  // namespace

extern const PatternRecord kOverlapNeighbor;
const PatternRecord kOverlapNeighbor = {
    "overlap-neighbor", 11, 11, "as overlap-fused, all messages by one MPI_Neighbor_alltoallv",
    [](const Setup& setup) -> std::unique_ptr<Pattern> { return std::make_unique<OverlapNeighbor>(setup); }};

}  // namespace halo3d
