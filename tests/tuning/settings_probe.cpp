// Starts up as MPI_Init does and prints this process's settings: rank, host, job, knobs of scope job, rows of the
// tuning file.
#include <cstdio>

#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "coll/select/tuning.hpp"

int main() {
  if (!hr::boot::init({&hr::coll::tuning::kSetting, 1}).ok() || !hr::boot::fence().ok()) {
    std::fprintf(stderr, "settings_probe: %s\n", hr::take_detail().c_str());
    return 1;
  }
  const hr::Knobs& knobs = hr::knobs();
  std::printf("%d %d %s '%s' %zu %d %d\n", hr::boot::identity().rank,
              hr::boot::processes().host_of(hr::boot::identity().rank), hr::boot::identity().job_id.c_str(),
              knobs.coll_force.c_str(), knobs.shm_ring_bytes, static_cast<int>(knobs.coll_shared_after),
              static_cast<int>(hr::coll::tuning::job_rows().size()));
  return hr::boot::finalize().ok() ? 0 : 1;
}
