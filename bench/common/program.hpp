// The framework of every benchmark's main: MPI, options, errors, this rank's memory and device, the report's heading.
#pragma once

#include <functional>
#include <string>

#include "common/memory.hpp"
#include "common/options.hpp"
#include "common/report.hpp"
#include "common/world.hpp"

namespace bench {

// Static description of a benchmark program.
struct Program {
  const char* name;
  const char* sentence;                               // the measured quantity, for --help
  const char* ranks = "N";                            // number of ranks in the usage text, as in "mpiexec -n 2"
  bool even_ranks = false;                            // needs an even number of ranks, as they work in pairs
  std::function<bool(std::string&)> check = nullptr;  // further checks of the options; if false, with a message
  bool threads = false;                               // requests MPI_THREAD_MULTIPLE
  bool host_alone = false;                            // uses no device and no other memory than the host's
};

// Initializes MPI unless main has done so, and parses the options. Then prints the usage or an error, or calls `body`.
// Finalizes MPI. Returns main's exit status: 2 for wrong usage.
int run_program(int argc, char** argv, const Program& program, const OptionTable& table, Options& options,
                const std::function<int(const World&)>& body);

// Returns the kind of this rank's memory, and prepares its device. Ends the job (code 3) if that memory is not
// available.
MemoryKind memory_of(const Program& program, const World& world, const Options& options);
void allocate(const Program& program, const World& world, MemoryKind kind, std::size_t bytes, Buffer& buffer);

// Fills in everything but the rows, the unit and the program's own settings. Collective.
Report make_report(const Program& program, const World& world, const Options& options);
// prints_table(): true on rank 0, unless the JSON is written to standard output. add_row(): adds a row, and prints it
// if `print`. finish(): writes the file on rank 0, and returns main's exit status.
bool prints_table(const World& world, const Options& options);
void add_row(Report& report, Row row, bool print);
int finish(const Program& program, const World& world, const Options& options, const Report& report);

}  // namespace bench
