#include "run.hpp"

#include <cstdio>

namespace diffusion2d {

Result run_case(const Case& what, const VariantRecord& record, int steps, MPI_Comm comm, const MakeBackend& make) {
  constexpr int kWarmUp = 3;
  const Strip strip = make_strip(comm, what.nx, what.ny);
  const Solution solution(strip);
  std::vector<double> field(strip.points());
  solution.fill(field);

  Result result{what, &record, 0, {}, {}};
  const std::unique_ptr<Backend> backend = make(strip);
  const std::unique_ptr<Variant> variant = record.make(strip, *backend, result.times);
  backend->upload(field.data());
  for (int step = 0; step < kWarmUp; ++step)
    variant->step();  // warm-up: the first messages connect ranks, and the first copies map memory
  backend->upload(field.data());

  result.times = {};
  MPI_Barrier(comm);
  const double begin = MPI_Wtime();
  for (int step = 0; step < steps; ++step) variant->step();
  result.seconds = MPI_Wtime() - begin;

  backend->download(field.data());
  result.verdict = solution.check(field, steps);
  if (!result.verdict.difference.empty()) {
    std::fprintf(stderr, "diffusion2d: variant %s, %d ranks: %s\n", record.name, what.ranks,
                 result.verdict.difference.c_str());
  }
  MPI_Allreduce(MPI_IN_PLACE, &result.seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
  double sums[2] = {result.times.exchange, result.times.update};
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, comm);
  result.times = {sums[0] / strip.ranks, sums[1] / strip.ranks};
  return result;
}

}  // namespace diffusion2d
