// Options of a benchmark: one struct, filled in from the command line.
//
// Owned by main, read-only after parsing. Every program accepts the common options, so that a runner can treat all
// programs alike, and ignores those that do not apply (latency has no window); it may add its own options to the table.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/memory.hpp"
#include "option_table.hpp"

namespace bench {

// Limits for the time in which a cache line passes between two cores without MPI. `most` 0: any distance.
struct CoreDistance {
  double least = 0, most = 0;  // nanoseconds
  explicit operator bool() const { return most > 0; }
  [[nodiscard]] bool contains(double nanoseconds) const { return least <= nanoseconds && nanoseconds <= most; }
};

struct Options {
  std::size_t min = 1, max = std::size_t{4} << 20, factor = 2;
  std::vector<std::size_t> sizes;  // message sizes in bytes, in the order of measurement; if empty, derived from the
                                   // above
  int iterations = 0;              // number per repetition; 0: as many as take about ten milliseconds
  int warmup = 0;                  // iterations before the first repetition; 0: a tenth of those of a repetition
  int repetitions = 20;            // samples per size; every printed figure is a statistic of these
  int seconds = 2;                 // a size that takes longer has fewer repetitions, but at least five
  int window = 64;                 // messages in flight, for the programs that stream
  MemoryKind memory[2] = {MemoryKind::kHost,
                          MemoryKind::kHost};  // kinds of memory of the lower and the upper rank of a pair
  bool cuda_in_use = false;                    // create a CUDA context and send one device message before measuring
  bool touch = false;        // host memory: the time includes writing sent data and reading received data
  bool validate = false;     // check every byte, outside the measured time
  CoreDistance cores_apart;  // count only repetitions with the two ranks' cores at this distance
  std::string json;          // file for the results; "-": standard output, instead of the table
};

using command_line::OptionTable;
using command_line::ParseResult;
using command_line::split;

// Returns the common options, parsed into `options`.
OptionTable common_options(Options& options);
// Adds --touch, for programs that support it.
void add_touch(OptionTable& table, Options& options);
// True if either half of the ranks has buffers in other memory than the host's.
[[nodiscard]] bool uses_devices(const Options& options);
// Derives the sizes from min, max and factor if none were listed. Returns false, with a message, if the options
// contradict each other.
[[nodiscard]] bool complete(Options& options, std::string& message);

// Parses "8", "4K", "16M", "1G": powers of 1024. Returns false if `text` is not a size.
[[nodiscard]] bool parse_size(const std::string& text, std::size_t& value);
[[nodiscard]] bool parse_positive(const std::string& text, int& value);
// Parses a range such as "45-150"; false for any other string.
[[nodiscard]] bool parse_core_distance(const std::string& text, CoreDistance& apart);
[[nodiscard]] bool parse_size_list(const std::string& text, std::vector<std::size_t>& sizes);

}  // namespace bench
