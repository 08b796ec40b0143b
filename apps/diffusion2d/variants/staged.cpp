// Exchanges messages through host memory, as a program must if its MPI library is not GPU-aware: copies the edge rows
// to the host, exchanges them there, and copies the received rows into the halo.
#include "variant.hpp"

namespace diffusion2d {
namespace {

class Staged final : public Variant {
 public:
  Staged(const Strip& strip, Backend& backend, Times& times) : Variant(strip, backend, times) {
    for (double** row : {&first_, &last_, &before_, &after_}) *row = backend.allocate_host_row();
  }

  void step() override {
    exchange();
    const Stopwatch watch(times_.update);
    field_.update(1, strip_.rows);
    field_.wait();
    field_.swap();
  }

 private:
  void exchange() {
    const Stopwatch watch(times_.exchange);
    field_.copy_row(first_, field_.row(1));
    field_.copy_row(last_, field_.row(strip_.rows));
    field_.wait();
    MPI_Sendrecv(first_, strip_.nx, MPI_DOUBLE, strip_.previous, 0, after_, strip_.nx, MPI_DOUBLE, strip_.next, 0,
                 strip_.comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(last_, strip_.nx, MPI_DOUBLE, strip_.next, 1, before_, strip_.nx, MPI_DOUBLE, strip_.previous, 1,
                 strip_.comm, MPI_STATUS_IGNORE);
    field_.copy_row(field_.row(strip_.rows + 1), after_);
    field_.copy_row(field_.row(0), before_);
  }

  double *first_, *last_, *before_, *after_;  // rows in host memory; those at a wall stay zero
};

}  // namespace

extern const VariantRecord kStaged;
const VariantRecord kStaged = {"staged", "edge rows copied to the host, sent, and copied back",
                               [](const Strip& strip, Backend& backend, Times& times) -> std::unique_ptr<Variant> {
                                 return std::make_unique<Staged>(strip, backend, times);
                               }};

}  // namespace diffusion2d
