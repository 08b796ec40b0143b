// Step 7: all directions at once: first all MPI_Irecv and MPI_Isend, then the waits, which permits overlap.
#include "patterns/halo_messages.hpp"

namespace halo3d {
namespace {

class IsendIrecv final : public Pattern {
 public:
  explicit IsendIrecv(const Setup& setup) : Pattern(setup), messages_(setup, false) {}

  void exchange() override {
    messages_.pack_all();
    for (int axis = 0; axis < kAxes; ++axis) messages_.post(axis);
    for (int axis = 0; axis < kAxes; ++axis) messages_.complete(axis);
    messages_.unpack_all(true);
  }

 private:
  HaloMessages messages_;
};

}  // namespace

extern const PatternRecord kIsendIrecv;
const PatternRecord kIsendIrecv = {
    "isend-irecv", 7, 7, "MPI_Isend and MPI_Irecv in all directions at once",
    [](const Setup& setup) -> std::unique_ptr<Pattern> { return std::make_unique<IsendIrecv>(setup); }};

}  // namespace halo3d
