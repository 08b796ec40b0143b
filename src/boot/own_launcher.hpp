// A private mpiexec for a process that was started without one: it starts the processes that this one spawns, and
// stores published names.
//
// It is the installation's mpiexec (in bin/, next to the library's folder), started when first needed, with one end of
// a socket pair, in a separate process group. mpiexec ends when this process and all processes that mpiexec has started
// have ended; if this process dies without finalize(), mpiexec kills the others. Owner: the singleton provider.
// Threads: library lock.
#pragma once

#include <sys/types.h>

#include <memory>

#include "boot/provider.hpp"

namespace hr::boot {

class OwnLauncher {
 public:
  // Starts mpiexec. Errors: MPI_ERR_SPAWN with the places searched for mpiexec, or the reason why it did not start.
  Status start();
  [[nodiscard]] bool started() const noexcept { return helper_ != nullptr; }
  [[nodiscard]] Helper& helper() const noexcept { return *helper_; }
  // Disconnects from mpiexec.
  Status finalize();

 private:
  std::unique_ptr<Helper> helper_;
};

}  // namespace hr::boot
