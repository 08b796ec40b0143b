// PmiServer: the launcher's side of PMI-1 for all ranks of one job.
//
// It keeps the key-value space, the barrier, and what each rank has said about itself; it does no input or output of
// its own: lines go in through handle_line(), answers go out through the callback. Owner: Job. One thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "boot/pmi1_wire.hpp"
#include "host_split.hpp"

namespace hr::launcher {

class PmiServer {
 public:
  struct Callbacks {
    std::function<void(int rank, std::string_view line)> send;
    std::function<void(int rank, int exit_code)> abort;
    std::function<void(int rank, int signal)> crashed;  // answer_crash() lets it go on
  };

  // appnums: which program each rank belongs to; one entry a rank. hosts: where the ranks are said to be.
  PmiServer(std::string space, std::vector<int> appnums, const HostSplit& hosts, Callbacks callbacks);

  // One line without its newline. What is not understood is answered with an error.
  void handle_line(int rank, std::string_view line);

  // shown: the rank need not show its stack itself.
  void answer_crash(int rank, bool shown);

  [[nodiscard]] bool initialised(int rank) const noexcept { return state(rank).initialised; }
  [[nodiscard]] bool finalized(int rank) const noexcept { return state(rank).finalized; }
  // True when some rank waits for others, in a barrier or for a value.
  [[nodiscard]] bool anyone_waits() const noexcept { return waiting_ != 0 || looked_ != 0 || !asked_for_.empty(); }

 private:
  struct RankState {
    bool initialised = false;
    bool finalized = false;
    bool in_barrier = false;
  };

  const RankState& state(int rank) const noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
  void enter_barrier(int rank);
  void put(int rank, std::string_view key, std::string_view value);
  void get(int rank, std::string_view key, bool wait);
  void compare(int rank, std::string_view view);

  std::string space_;
  std::vector<int> appnums_;
  Callbacks callbacks_;
  std::vector<RankState> ranks_;
  bool several_hosts_;
  std::map<std::string, std::string, std::less<>> values_;
  std::map<std::string, std::vector<int>, std::less<>> asked_for_;  // ranks that wait for a key
  std::size_t waiting_ = 0;                                         // ranks in the barrier
  std::vector<std::string> views_;  // of ranks that wait to hear where all are (boot/host_view.hpp); empty: not yet
  std::size_t looked_ = 0;          // how many have one
};

}  // namespace hr::launcher
