// PmiServer: the launcher's side of PMI-1 for the ranks on one host.
//
// It keeps this host's copy of the key-value space, the barrier of these ranks, and the state of each. It does no I/O
// itself: lines come in through handle_line(), answers and messages to other hosts go out through the callbacks. Owner:
// HostRanks. One thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "boot/pmi1_wire.hpp"
#include "plan/packing.hpp"
#include "plan/rank_map.hpp"
#include "plan/spawn_request.hpp"

namespace hr::launcher {

class PmiServer {
 public:
  struct Callbacks {
    std::function<void(int rank, std::string_view line)> send;
    std::function<void(int rank, int exit_code)> abort;
    // Called to keep open, until the job ends, a file that the process has open.
    std::function<void(int rank, int pid, int file)> keep_file;
    std::function<void(int rank, int signal)> crashed;  // the rank waits for answer_crash()
    // Called when all ranks here have entered the barrier; leave_fence() releases them. `values`: those put since the
    // last barrier.
    std::function<void(std::vector<KeyValue> values)> fence;
    // Called when all ranks here have reported their views of their host (boot/host_view.hpp). `views`: pairs of a view
    // and the ranks that have it. tell_hosts() releases the ranks.
    std::function<void(std::vector<KeyValue> views)> views;
    std::function<void(const std::string& key)> ask;  // a rank waits for a key that is not here; called once per key
    std::function<void(int rank, const SpawnRequest& request)> spawn;  // answered by Job, which starts the processes
    // Called for a request about a service (Message::kPublish and the like), which is answered with a line.
    std::function<void(int rank, int what, std::string_view service, std::string_view port)> name;
    std::function<void(std::vector<KeyValue> values)> answer;  // values for which another host waits: see want()
  };

  // `appnums`: program of each rank of the job. `ranks`: those on this host, as in `map`. `machine_ranks`: number of
  // ranks that share the cores, if the map does not show it; else 0. `failure_board`: number of the board that lists
  // failed ranks (boot/failure_board.hpp); -1: none. `one_host`: spawned processes also run on this host.
  PmiServer(std::string space, std::vector<int> appnums, const RankMap& map, const std::vector<int>& ranks,
            int machine_ranks, int failure_board, bool one_host, Callbacks callbacks);

  // Adds the initial pairs of the key-value space.
  void give(const std::vector<KeyValue>& pairs);

  // Sets MPI_UNIVERSE_SIZE; the default is the number of ranks.
  void set_universe(int size) { universe_ = size; }

  // Handles one line, without its newline, from a rank on this host. An unknown line is answered with an error.
  void handle_line(int rank, std::string_view line);

  // Records that a rank of the job has died, so that no rank waits for it. A rank on another host is counted on that
  // host.
  void mark_failed(int rank);

  // Lets a rank that has reported a crash continue. `shown`: its stack has been shown, so the rank need not show it
  // itself.
  void answer_crash(int rank, bool shown);

  // Adds values that ranks on other hosts have put; ranks here that waited for one of them continue.
  void publish(const std::vector<KeyValue>& values);
  void leave_fence();
  void tell_hosts(std::string_view hosts);
  // Records that another host waits for a key. As soon as a rank here has put the key, calls callbacks.answer with all
  // pairs that this rank has put.
  void want(const std::string& key);
  [[nodiscard]] bool knows(std::string_view key) const { return values_.find(key) != values_.end(); }
  // Returns the pair with that key, and all other pairs of the rank that put it; empty if the key is not known here.
  [[nodiscard]] std::vector<KeyValue> put_with(std::string_view key) const;

  [[nodiscard]] bool initialised(int rank) const noexcept { return state(rank).initialised; }
  [[nodiscard]] bool finalized(int rank) const noexcept { return state(rank).finalized; }
  // True if a program of the rank that has finalized had called MPI_Init, and not only MPI_Session_init.
  [[nodiscard]] bool used_world(int rank) const noexcept { return state(rank).used_world; }
  // Returns the id of the rank's process that called MPI_Init last; 0 if it is not known.
  [[nodiscard]] int client(int rank) const noexcept { return state(rank).client; }
  // True if any rank waits for others, in a barrier or for a value.
  [[nodiscard]] bool anyone_waits() const noexcept { return waiting_ != 0 || !views_.empty() || !asked_for_.empty(); }

 private:
  struct RankState {
    bool initialised = false;
    bool finalized = false;
    bool used_world = false;
    bool in_barrier = false;
    bool failed = false;
    std::size_t put = 0;  // number of bytes that the rank has put, at most kMostPut
    int run = 0;          // number of programs of this rank that have ended
    int client = 0;       // id of the process that has called MPI_Init, if it was sent
    SpawnLines spawn;
  };
  struct Value {
    std::string text;
    int rank;  // rank on this host that put it; -1 if it is from another host
  };

  const RankState& state(int rank) const noexcept { return ranks_.at(rank); }
  static void begin_next_run(RankState& state);
  [[nodiscard]] static std::string key_in(const RankState& state, std::string_view key);
  void enter_barrier(int rank);
  void check_barrier();
  void check_views();
  bool handle_spawn(int rank, std::string_view line);
  bool handle_name(int rank, const boot::WireMessage& message);
  void put(int rank, std::string_view key, std::string_view value);
  void get(int rank, std::string_view key, bool wait);
  void get_numbered(int rank, std::string_view key, int first, int count);
  void look(int rank, std::string_view view);
  void answer_waiting(std::string_view key);
  bool add(std::string_view key, Value value);

  std::string space_;
  std::vector<int> appnums_;
  int universe_;
  int machine_ranks_;
  int failure_board_;
  bool one_host_;
  Callbacks callbacks_;
  std::map<int, RankState> ranks_;
  std::size_t left_;  // ranks here that have not died
  std::map<std::string, Value, std::less<>> values_;
  std::string last_numbered_;  // the last request for numbered values, and its answer, until a value is added
  std::string last_answer_;
  std::vector<KeyValue> unfenced_;                                  // put here since the last fence
  std::map<std::string, std::vector<int>, std::less<>> asked_for_;  // the ranks that wait for each key
  std::set<std::string, std::less<>> wanted_;                       // keys for which other hosts wait
  std::size_t waiting_ = 0;                                         // ranks in the barrier
  bool fencing_ = false;              // true if all remaining ranks have entered the barrier and this has been reported
  std::map<int, std::string> views_;  // views of ranks that wait for the placement of all ranks
  bool views_told_ = false;
};

}  // namespace hr::launcher
