// Like device, but sends in both directions at once and computes the rows that need no halo while the messages travel.
#include "variant.hpp"

namespace diffusion2d {
namespace {

class Overlap final : public Variant {
 public:
  using Variant::Variant;

  void step() override {
    MPI_Request requests[4];
    {
      const Stopwatch watch(times_.update);
      field_.update(2, strip_.rows - 1);  // asynchronous on a GPU
    }
    {
      const Stopwatch watch(times_.exchange);
      MPI_Irecv(field_.row(0), strip_.nx, MPI_DOUBLE, strip_.previous, 1, strip_.comm, &requests[0]);
      MPI_Irecv(field_.row(strip_.rows + 1), strip_.nx, MPI_DOUBLE, strip_.next, 0, strip_.comm, &requests[1]);
      MPI_Isend(field_.row(1), strip_.nx, MPI_DOUBLE, strip_.previous, 0, strip_.comm, &requests[2]);
      MPI_Isend(field_.row(strip_.rows), strip_.nx, MPI_DOUBLE, strip_.next, 1, strip_.comm, &requests[3]);
      MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    }
    const Stopwatch watch(times_.update);
    field_.update(1, 1);
    if (strip_.rows > 1) field_.update(strip_.rows, strip_.rows);
    field_.wait();
    field_.swap();
  }
};

}  // namespace

extern const VariantRecord kOverlap;
const VariantRecord kOverlap = {"overlap", "as device, the inner rows computed while messages are under way",
                                [](const Strip& strip, Backend& backend, Times& times) -> std::unique_ptr<Variant> {
                                  return std::make_unique<Overlap>(strip, backend, times);
                                }};

}  // namespace diffusion2d
