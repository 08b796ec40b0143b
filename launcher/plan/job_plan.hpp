// JobPlan: all that a host must know to start its ranks of a job. mpiexec makes it and sends it to every agent. Plain
// values.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/rank_map.hpp"
#include "topo/mapping.hpp"

namespace hr::launcher {

// Command that starts mpiexec on another host.
struct RemoteShell {
  enum class Kind : int { kSsh, kSrun, kOther, kLast = kOther };
  Kind kind = Kind::kSsh;
  std::vector<std::string> words;  // the program and its options
};

struct PlannedProgram {
  int ranks = 0;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // NAME=VALUE
  std::string directory;                 // empty: the directory where mpiexec was started
};

struct JobPlan {
  std::string id;  // name of the PMI key-value space and of the shared-memory files
  std::vector<PlannedProgram> programs;

  std::vector<std::string> hosts;  // hosts that have ranks
  int root_host = -1;              // index of mpiexec's own host; -1 if it has no ranks
  std::vector<int> host_of;        // index into hosts, for each rank
  int declared_hosts = 1;          // number of hosts that programs see if all ranks are on one (--as-hosts)

  int universe = 1;  // MPI_UNIVERSE_SIZE

  std::string directory;    // directory where mpiexec was started
  std::string search_path;  // mpiexec's PATH
  int creation_mask = 022;
  topo::Mapping mapping;
  bool report_bindings = false;
  bool prompts = false;  // show the beginning of a line before it is complete
  bool keep_going = false;
  bool save_counters = false;
  bool one_host = false;                                   // everything that this mpiexec may start is on one host
  bool spawned = false;                                    // a rank of another job of this mpiexec has spawned this one
  bool foreign_variables = true;                           // tell ranks their places under other launchers' names, too
  std::vector<std::pair<std::string, std::string>> given;  // initial pairs of the key-value space
  std::set<std::string> shm_directories;

  std::chrono::milliseconds silence{30000};  // see Channel
  int degree = 32;                           // degree of the tree
  RemoteShell shell;
  std::string mpiexec;  // path of the program

  // Not part of the message:
  int adopted = -1;  // PMI socket of the only rank, which is not a child of mpiexec (--serve)
  std::shared_ptr<const topo::Machine> machine;  // description of mpiexec's host

  [[nodiscard]] int ranks() const noexcept { return static_cast<int>(host_of.size()); }
  // Returns the program of each rank.
  [[nodiscard]] std::vector<int> appnums() const;
  // Returns the map that programs are to see, which differs from the ranks' placement if one host is declared to be
  // several.
  [[nodiscard]] RankMap visible_map() const;
  [[nodiscard]] std::vector<int> ranks_of(int host) const { return RankMap(host_of).ranks_of(host); }
};

std::string encode(const JobPlan& plan);
// Returns nullopt if the bytes are not a plan, or an inconsistent one.
std::optional<JobPlan> decode_plan(std::string_view bytes);

}  // namespace hr::launcher
