// Hosts: the distribution of a communicator's processes over hosts. Used by compositions, which are algorithms that
// call others over the processes of one host and over one process of each host.
//
// Hosts are numbered in the order of their lowest ranks. The speaker of a host (its leader, in other libraries) is the
// process that takes part in operations between hosts: the root, if it is on the host, else the host's first process.
// Owner: the Members of the communicator. Threads: library lock; logically const.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "coll/members.hpp"

namespace hr::coll {

class Hosts {
 public:
  Hosts(const comm::Communicator& comm, comm::ProcList procs, Sequence sequence);

  [[nodiscard]] int count() const noexcept { return static_cast<int>(begin_.size()) - 1; }
  // True if the ranks of each host are consecutive, so that host after host is also the order of ranks.
  [[nodiscard]] bool in_order() const noexcept { return in_order_; }
  [[nodiscard]] int of(int rank) const noexcept { return host_[index(rank)]; }
  // Return the ranks of a host, in order, and all ranks, host after host.
  [[nodiscard]] std::span<const int> ranks(int host) const noexcept {
    return std::span(by_host_).subspan(index(begin(host)), index(begin(host + 1) - begin(host)));
  }
  [[nodiscard]] std::span<const int> ranks() const noexcept { return by_host_; }
  // Returns the number of processes on the hosts before this one.
  [[nodiscard]] int begin(int host) const noexcept { return begin_[index(host)]; }

  // Return the processes of this host, and the number of the host.
  [[nodiscard]] const Members& here() const noexcept { return *here_; }
  [[nodiscard]] int own() const noexcept { return own_host_; }

  // Returns the first processes of all hosts, if this process is one of them; otherwise null.
  [[nodiscard]] const Members* firsts() const noexcept { return firsts_.get(); }
  [[nodiscard]] bool is_first(int rank) const noexcept { return by_host_[index(begin(of(rank)))] == rank; }

  // Returns the last processes of all hosts; created on first use. Only on a process that is one of them.
  [[nodiscard]] const Members& lasts() const;

  // Returns the processes with the same index on their hosts as this one; created on first use. All hosts must have the
  // same number of processes.
  [[nodiscard]] const Members& alike() const;

  // Returns the largest number of processes on one host.
  [[nodiscard]] int most_on_one() const noexcept;

  // Returns the index in here() of this host's speaker. `root` is the speaker of its own host (root < 0: no root).
  [[nodiscard]] int speaker(int root) const noexcept;
  // Returns the speakers of the hosts, in their order.
  [[nodiscard]] std::vector<int> speakers(int root) const;

 private:
  [[nodiscard]] static std::size_t index(int i) noexcept { return static_cast<std::size_t>(i); }

  std::vector<int> host_;     // by rank
  std::vector<int> by_host_;  // ranks
  std::vector<int> begin_;    // start of each host's ranks in by_host_, and the end
  bool in_order_ = true;
  int own_host_;
  const comm::Communicator& comm_;
  Sequence sequence_;
  std::unique_ptr<Members> here_;
  std::unique_ptr<Members> firsts_;
  mutable std::unique_ptr<Members> lasts_;
  mutable std::unique_ptr<Members> alike_;
};

}  // namespace hr::coll
