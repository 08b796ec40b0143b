// The frame around a benchmark of pairs of ranks: sizes, validation, repetitions, statistics, report.
//
// A program is one record: its names, how one repetition is measured, and what a time means. `run` does everything else
// and returns main's exit status.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "common/options.hpp"

namespace bench {

// This rank's half of a pair. The lower rank leads: its clock counts.
struct Pair {
  int peer;
  bool lower;
  MPI_Comm comm;
};

struct Transfer {
  const Pair& pair;
  void* send;  // `slots` messages of `bytes` each, one behind the other
  void* receive;
  std::size_t bytes;
  int iterations;
  int window;
  bool touch;  // write sent data and read received data
  int slots;   // message m of a window uses slot m % slots: 1 when timing, as other suites do; window when checking
};

struct Benchmark {
  const char* name;
  const char* unit;
  const char* sentence;  // what it measures; for --help
  bool less_is_better;
  bool streams;                     // uses the window
  bool both_ways;                   // the upper rank sends too
  void (*repeat)(const Transfer&);  // one repetition: `iterations` exchanges
  double (*value)(double seconds, std::size_t bytes, int iterations, int window);  // of one pair
  bool touches = false;                                                            // knows Transfer::touch
};

int run(int argc, char** argv, const Benchmark& benchmark);

}  // namespace bench
