// The framework of a benchmark on pairs of ranks: sizes, validation, repetitions, statistics, report.
//
// A program is described by one record: its names, the measurement of one repetition, and the meaning of a time. `run`
// does everything else and returns main's exit status.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "common/options.hpp"

namespace bench {

// This rank's half of a pair. The lower rank leads, and its clock is used.
struct Pair {
  int peer;
  bool lower;
  MPI_Comm comm;
};

struct Transfer {
  const Pair& pair;
  void* send;  // buffer of `slots` consecutive messages of `bytes` each
  void* receive;
  std::size_t bytes;
  int iterations;
  int window;
  bool touch;  // write sent data and read received data
  int slots;   // message m of a window uses slot m % slots; 1 for timing, as in other suites; `window` for checking
};

struct Benchmark {
  const char* name;
  const char* unit;
  const char* sentence;  // the measured quantity, for --help
  bool less_is_better;
  bool streams;                     // true if the program sends windows of messages
  bool both_ways;                   // true if the upper rank sends as well
  void (*repeat)(const Transfer&);  // one repetition: `iterations` exchanges
  double (*value)(double seconds, std::size_t bytes, int iterations, int window);  // figure of one pair
  bool touches = false;                                                            // obeys Transfer::touch
};

int run(int argc, char** argv, const Benchmark& benchmark);

}  // namespace bench
