// The command line of mpiexec, understood. Plain values, owned by main().
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host_list.hpp"
#include "topo/mapping.hpp"

namespace hr::launcher {

inline constexpr int kUsageExit = 2;  // a command line that is not understood, or not possible

using Variable = std::pair<std::string, std::string>;

// Which of mpiexec's own variables a program gets.
struct Inherited {
  bool all = true;
  std::vector<std::string> names;  // where not all
  bool said = false;               // on the command line
};

// One part of the command line between ':' signs.
struct Program {
  int ranks = 0;                       // 0: not said
  int per_host = 0;                    // the same
  std::vector<HostSlots> hosts;        // empty: those of the job
  std::vector<std::string> arguments;  // the first is the program as written
  std::vector<Variable> environment;   // on top of what is inherited
  Inherited inherited;
  std::string directory;  // empty: mpiexec's own
};

struct Options {
  std::vector<Program> programs;
  bool label = false;
  topo::Mapping mapping;
  int as_hosts = 0;              // as if the ranks were on so many; 0: what the knob as_hosts says
  std::vector<HostSlots> hosts;  // of programs that name none; empty: those of an allocation, or this one
  int most_hosts = 0;            // of those; 0: all
  bool not_here = false;         // none on this host
  std::string launcher;          // empty: what the knob launcher says
  bool report_bindings = false;
  bool note_oversubscription = false;
  bool do_not_launch = false;         // print where ranks would go
  bool json = false;                  // as JSON
  std::vector<std::string> machines;  // where they would go on these (topo::read_machine()); empty: on this one
  int universe = 0;                   // MPI_UNIVERSE_SIZE; 0: what the hosts take
  double timeout_seconds = 0;         // 0: none
  std::string timeout_origin;         // "--timeout" or the variable that says so
  bool keep_going = false;            // a rank that dies does not end the job
  bool quiet = false;                 // no notes
  std::string output_directory;
  bool output_in_files_only = false;
  std::string save_counters;  // the file; empty: none
};

// nullopt when there is nothing to run (help, version, an error, all already printed): exit with *exit_code.
std::optional<Options> parse_options(int argc, char** argv, int* exit_code);

}  // namespace hr::launcher
