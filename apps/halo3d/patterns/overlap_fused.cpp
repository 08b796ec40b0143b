// Beyond the series: like overlap-async, with as little device work as the messages allow. All faces are packed
// at once; nothing is unpacked, as the update of the boundary reads the received buffers; and the device starts a step
// as soon as it has finished the previous one, without the host.
#include "patterns/halo_messages.hpp"

namespace halo3d {
namespace {

class OverlapFused final : public Pattern {
 public:
  explicit OverlapFused(const Setup& setup) : Pattern(setup), messages_(setup, false) {}

  void exchange() override {
    setup_.backend.pack_faces(messages_.to_send());
    setup_.backend.wait();
    transfer();
    messages_.unpack_all(true);
  }

  void step() override {
    {
      const Stopwatch watch(setup_.times.pack[kAxes - 1]);  // packing for all directions
      setup_.backend.pack_faces(messages_.to_send());
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
    setup_.backend.update_boundary(setup_.way, messages_.arrived());
    setup_.backend.hand_over_step();
  }

 private:
  void transfer() {
    for (int axis = 0; axis < kAxes; ++axis) messages_.post(axis);
    for (int axis = 0; axis < kAxes; ++axis) messages_.complete(axis);
  }

  HaloMessages messages_;
};

}  // namespace

extern const PatternRecord kOverlapFused;
const PatternRecord kOverlapFused = {
    "overlap-fused", 10, 10, "as overlap-async, nothing unpacked: the boundary is updated from the messages",
    [](const Setup& setup) -> std::unique_ptr<Pattern> { return std::make_unique<OverlapFused>(setup); }};

}  // namespace halo3d
