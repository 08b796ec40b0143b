// What a benchmark is asked to do: one struct filled from the command line.
//
// Owned by main, read-only after parsing. The same options for every program, so that a runner can drive
// them alike; a program ignores what it has no use for (latency has no window).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "common/memory.hpp"

namespace bench {

struct Options {
  std::vector<std::size_t> sizes;  // message sizes in bytes, in the order they are measured
  int iterations = 0;              // a repetition; 0: as many as take about ten milliseconds
  int warmup = 0;                  // iterations before the first repetition; 0: a tenth of a repetition's
  int repetitions = 20;            // samples a size; every figure printed is a statistic over these
  int window = 64;                 // messages in flight, for the programs that stream
  MemoryKind memory[2] = {MemoryKind::kHost, MemoryKind::kHost};  // of the lower and of the upper rank of a pair
  bool validate = false;  // check every byte in a pass of its own before the timing
  std::string json;       // file for the results; "-" is standard output instead of the table
};

enum class ParseResult { kRun, kHelp, kError };

// On kError `message` says which argument is wrong.
[[nodiscard]] ParseResult parse(int argc, char** argv, Options& options, std::string& message);
std::string usage(const char* program);

// Iterations of one repetition when one takes `seconds`: `options.iterations`, or as many as make a repetition of about
// ten milliseconds. Short repetitions, because the quiet moments of a shared machine are short.
int iterations_for(const Options& options, double seconds);

}  // namespace bench
