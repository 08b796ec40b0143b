// An mpiexec of our own for a process that was started without one: it starts what the process spawns, and keeps names.
//
// It is the installation's (bin/mpiexec beside the library's folder), started on the first need with one end of a
// socket pair, in a process group of its own. It ends when this process does and all it started has ended; should this
// process die without a good-bye, it ends what is left. Owner: the singleton provider. Threads: library lock.
#pragma once

#include <sys/types.h>

#include <memory>

#include "boot/provider.hpp"

namespace hr::boot {

class OwnLauncher {
 public:
  // Errors: MPI_ERR_SPAWN that says where mpiexec was looked for, or why it did not start.
  Status start();
  [[nodiscard]] bool started() const noexcept { return helper_ != nullptr; }
  [[nodiscard]] Helper& helper() noexcept { return *helper_; }
  // Says good-bye.
  Status finalize();

 private:
  std::unique_ptr<Helper> helper_;
};

}  // namespace hr::boot
