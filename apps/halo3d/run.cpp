#include "run.hpp"

#include <cstdio>
#include <cstring>
#include <vector>

#include "md5.hpp"
#include "profile.hpp"
#include "reference.hpp"

namespace halo3d {
namespace {

constexpr int kIdentitySteps = 3;

class Run {
 public:
  Run(const PatternRecord& record, const Options& options, const Decomposition& decomposition, Backend& backend)
      : options_(options),
        decomposition_(decomposition),
        backend_(backend),
        way_(options.reverse ? 1 : 0),
        host_(kFields * decomposition.shape().volume() * static_cast<std::size_t>(decomposition.shape().element_bytes)),
        pattern_(record.make({decomposition, backend, times_, way_})) {
    result_.name = record.name;
    result_.step = record.step(backend.on_device());
    result_.valid = true;
  }

  Result result() {
    if (options_.identity_check) identity();
    measure();
    finish();
    if (options_.baseline) measure_alone();
    return result_;
  }

 private:
  void identity() {
    const Reference reference(decomposition_, Initial::kIdentity, way_);
    start(reference);
    for (int step = 0; step < kIdentitySteps; ++step) pattern_->step();
    check(reference, kIdentitySteps);
  }

  void measure() {
    const Reference reference(decomposition_, Initial::kSine, way_);
    start(reference);
    times_ = {};
    double seconds = 0;
    for (int step = 0; step < options_.steps;) {
      const int chunk = options_.check_every == 0 ? options_.steps : options_.check_every;
      MPI_Barrier(decomposition_.comm());
      const double begin = MPI_Wtime();
      for (int i = 0; i < chunk && step < options_.steps; ++i, ++step) pattern_->step();
      backend_.wait();  // waits for work that a pattern has left on the device
      seconds += MPI_Wtime() - begin;
      check(reference, step);
    }
    result_.seconds = slowest(seconds);
  }

  // Times steps as if communication were free: updates all points at once, without packing or messages.
  void measure_alone() {
    MPI_Barrier(decomposition_.comm());
    const double begin = MPI_Wtime();
    for (int step = 0; step < options_.steps; ++step) {
      backend_.update(way_, Part::kAll);
      backend_.wait();
      backend_.finish_step();
    }
    result_.alone = slowest(MPI_Wtime() - begin);
  }

  double slowest(double seconds) const {
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, decomposition_.comm());
    return seconds;
  }

  void start(const Reference& reference) {
    reference.fill(host_.data());
    backend_.upload(host_.data());
  }

  // Checks this rank's own points and, after one more exchange that is not timed, the halos.
  void check(const Reference& reference, int steps) {
    const Times kept = times_;
    pattern_->exchange();
    backend_.wait();
    times_ = kept;
    backend_.download(host_.data());
    const std::string difference = reference.compare(host_.data(), steps);
    if (difference.empty()) return;
    result_.valid = false;
    if (result_.difference.empty()) result_.difference = difference;
  }

  void finish() {
    const Profiles profiles = make_profiles(decomposition_.shape(), host_.data());
    std::string message;
    if (!options_.profiles.empty() &&
        !write_profiles(profiles, options_.profiles, result_.name, decomposition_.rank(), message)) {
      std::fprintf(stderr, "halo3d: rank %d: %s\n", decomposition_.rank(), message.c_str());
      MPI_Abort(decomposition_.comm(), 3);
    }
    result_.md5 = md5(profiles[0] + profiles[1] + profiles[2]);
    std::string first = result_.md5;
    MPI_Bcast(first.data(), static_cast<int>(first.size()), MPI_CHAR, 0, decomposition_.comm());
    int good[2] = {result_.valid ? 1 : 0, first == result_.md5 ? 1 : 0};
    MPI_Allreduce(MPI_IN_PLACE, good, 2, MPI_INT, MPI_MIN, decomposition_.comm());
    result_.valid = good[0] != 0 && good[1] != 0;
    result_.md5 = good[1] != 0 ? first : "differ";

    auto values = times_.values();
    MPI_Allreduce(MPI_IN_PLACE, values.data(), Times::kValues, MPI_DOUBLE, MPI_SUM, decomposition_.comm());
    for (double& value : values) value /= decomposition_.ranks();
    result_.times = Times::from(values);
    result_.times.messages /= options_.steps;
    result_.times.bytes /= options_.steps;
  }

  const Options& options_;
  const Decomposition& decomposition_;
  Backend& backend_;
  const int way_;
  Times times_;
  std::vector<char> host_;
  std::unique_ptr<Pattern> pattern_;
  Result result_;
};

}  // namespace

Result run_pattern(const PatternRecord& record, const Options& options, const Decomposition& decomposition,
                   Backend& backend) {
  return Run(record, options, decomposition, backend).result();
}

}  // namespace halo3d
