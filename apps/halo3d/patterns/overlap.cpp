// Steps 8 and 9: like step 7, but update the points that need no halo between posting and waiting. In step 9 the device
// updates them from the start of the step, during packing, messages and unpacking.
#include "patterns/halo_messages.hpp"

namespace halo3d {
namespace {

class Overlap final : public Pattern {
 public:
  Overlap(const Setup& setup, bool asynchronous)
      : Pattern(setup), messages_(setup, false), asynchronous_(asynchronous) {}

  void exchange() override {
    start();
    finish(true);
  }

  void step() override {
    if (asynchronous_) update_inner();
    start();
    if (!asynchronous_) {
      update_inner();
      setup_.backend.finish_update();
    }
    finish(!asynchronous_);
    const Stopwatch watch(setup_.times.update);
    setup_.backend.update(setup_.way, Part::kBoundary);
    setup_.backend.wait();
    setup_.backend.finish_update();
    setup_.backend.finish_step();
  }

 private:
  void update_inner() {
    const Stopwatch watch(setup_.times.update);
    setup_.backend.update(setup_.way, Part::kInner);
  }
  void start() {
    messages_.pack_all();
    for (int axis = 0; axis < kAxes; ++axis) messages_.post(axis);
  }
  void finish(bool wait) {
    for (int axis = 0; axis < kAxes; ++axis) messages_.complete(axis);
    messages_.unpack_all(wait);
  }

  HaloMessages messages_;
  const bool asynchronous_;
};

}  // namespace

extern const PatternRecord kOverlap, kOverlapAsync;
const PatternRecord kOverlap = {
    "overlap", 8, 8, "as isend-irecv, the inner points updated between posting and waiting",
    [](const Setup& setup) -> std::unique_ptr<Pattern> { return std::make_unique<Overlap>(setup, false); }};
const PatternRecord kOverlapAsync = {
    "overlap-async", kNone, 9, "as overlap, the device updating the inner points while the host waits",
    [](const Setup& setup) -> std::unique_ptr<Pattern> { return std::make_unique<Overlap>(setup, true); }};

}  // namespace halo3d
