// From what the command line says to what each host must know.
#pragma once

#include <vector>

#include "allocation.hpp"
#include "base/status.hpp"
#include "job_plan.hpp"
#include "options.hpp"

namespace hr::launcher {

// Fills in what the command line left open (numbers of ranks, hosts) and makes the plan of the job. Says on standard
// error what a user should know of it.
Status make_plan(Options* options, JobPlan* plan);

// Where ranks go that are placed one program after the other: the slots of a host, then the next host, and from the
// first again when all are full. Pure.
class HostFiller {
 public:
  // per_host: so many on each host in turn, whatever its slots (0: its slots).
  explicit HostFiller(std::vector<HostSlots> hosts) : hosts_(std::move(hosts)) {}
  // An index into the hosts.
  int next(int per_host);
  [[nodiscard]] bool is_oversubscribed() const noexcept { return rounds_ > 0; }
  [[nodiscard]] const std::vector<HostSlots>& hosts() const noexcept { return hosts_; }

 private:
  std::vector<HostSlots> hosts_;
  std::size_t at_ = 0;
  int on_this_ = 0;
  int rounds_ = 0;
};

}  // namespace hr::launcher
