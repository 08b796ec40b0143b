// The command line of mpiexec, parsed. Plain values, owned by main().
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topo/mapping.hpp"
#include "words/host_list.hpp"

namespace hr::launcher {

inline constexpr int kUsageExit = 2;  // exit code for a command line that is wrong or cannot be executed

using Variable = std::pair<std::string, std::string>;

// Variables that a program inherits from mpiexec's own environment.
struct Inherited {
  bool all = true;
  std::vector<std::string> names;  // names of the inherited variables, unless all are inherited
  bool given = false;              // given on the command line
};

// One part of the command line between ':' signs.
struct Program {
  int ranks = 0;                       // 0: not given
  int per_host = 0;                    // 0: not given
  std::vector<HostSlots> hosts;        // empty: the hosts of the job
  std::vector<std::string> arguments;  // the first is the program as written
  std::vector<Variable> environment;   // variables in addition to the inherited ones
  Inherited inherited;
  std::string directory;  // empty: mpiexec's own working directory
};

struct Options {
  std::vector<Program> programs;
  bool label = false;
  topo::Mapping mapping;
  int as_hosts = 0;              // number of hosts that programs see; 0: the value of the knob as_hosts
  std::vector<HostSlots> hosts;  // hosts for programs that name none; empty: the hosts of an allocation, or this host
  int most_hosts = 0;            // number of those hosts to use; 0: all
  bool not_here = false;         // place no rank on this host
  std::string launcher;          // empty: the value of the knob launcher
  bool report_bindings = false;
  bool note_oversubscription = false;
  bool do_not_launch = false;         // print the placement of ranks
  bool json = false;                  // print it as JSON
  std::vector<std::string> machines;  // machines on which to place ranks (topo::read_machine()); empty: this machine
  int universe = 0;                   // MPI_UNIVERSE_SIZE; 0: the capacity of the hosts
  double timeout_seconds = 0;         // 0: none
  std::string timeout_origin;         // "--timeout" or the variable that sets it
  bool keep_going = false;            // a rank that dies does not end the job
  bool foreign_variables = true;      // tell ranks their places under other launchers' names, too
  bool quiet = false;                 // no notes
  std::string output_directory;
  bool output_in_files_only = false;
  std::string save_counters;  // the file; empty: none
};

}  // namespace hr::launcher
