// FailedPaths: peers whose path has failed, until that is reported.
//
// The connections of a process end with the process. If that is a failure, the launcher reports it and ends the job;
// otherwise the path itself has failed. So a failed path is reported only after a delay, to let the launcher report
// first.
// `Peer` has `proc`, `failed_at` (time of the failure) and `told` (true once it is reported).
// Owner of this and of the peers: the transport. Threads: library lock.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.hpp"
#include "transport/transport.hpp"

namespace hr::transport::network {

template <class Peer>
class FailedPaths {
 public:
  void add(Peer* peer) { peers_.push_back(peer); }
  void forget(Peer* peer) noexcept { std::erase(peers_, peer); }
  [[nodiscard]] bool empty() const noexcept { return peers_.empty(); }

  // Reports the peers that failed long enough ago. `why`: returns the error of a peer.
  template <class Why>
  void tell(const Handlers& handlers, Why&& why) {
    for (std::size_t i = 0; i < peers_.size();) {
      Peer& failed = *peers_[i];
      if (now_seconds() - failed.failed_at < kLaunchersSeconds) {
        ++i;
        continue;
      }
      peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(i));
      failed.told = true;
      const Status reason = why(failed);
      if (handlers.failed != nullptr) handlers.failed(failed.proc, reason);
    }
  }

 private:
  static constexpr double kLaunchersSeconds = 1;

  std::vector<Peer*> peers_;
};

}  // namespace hr::transport::network
