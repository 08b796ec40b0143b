// reduce_arguments.hpp: arguments of the reduction kernels; shared by the kernels and the code that launches them.
//
// A kernel combines elements [first, first + count) of all inputs, input 0 leftmost, strictly from left to right, and
// stores the result to every output. Inputs and outputs may be on peer devices. An output may be an input (the same
// address), as each element is read and written by one thread. `first` and `count` are in elements of the kernel.
#pragma once

#include <cstdint>

namespace hr::kernels {

inline constexpr int kReduceSides = 16;

enum ReduceOp : std::uint32_t {
  kReduceFirst,  // the first input, unchanged
  kReduceMin,    // also MPI_MINLOC
  kReduceMax,    // also MPI_MAXLOC
  kReduceSum,
  kReduceProd,
  kReduceLand,
  kReduceLor,
  kReduceLxor,
  kReduceBand,
  kReduceBor,
  kReduceBxor
};

enum ReduceAccess : std::uint32_t {
  kReduceByBytes,     // some addresses are not aligned to the elements
  kReduceByElements,  // all addresses are aligned
  kReduceByVectors    // all addresses are aligned, and have the same offset, in whole elements, from a multiple of 16
};

struct ReduceArguments {
  std::uint64_t inputs[kReduceSides];
  std::uint64_t outputs[kReduceSides];
  std::uint64_t first;
  std::uint64_t count;
  // Logical operations: values of results; an operand is false if it equals false_value.
  std::int64_t true_value;
  std::int64_t false_value;
  // Signals between the processes of a collective: address of a 32-bit word (0: none) to be set to flag_value, and
  // address of the counter of finished blocks.
  std::uint64_t flag;
  std::uint64_t arrivals;
  std::uint32_t flag_value;
  std::uint32_t op;
  std::uint32_t ninputs;   // 1 to kReduceSides
  std::uint32_t noutputs;  // 1 to kReduceSides
  std::uint32_t access;
  std::uint32_t reserved;
};

inline constexpr unsigned kReduceThreads = 256;

}  // namespace hr::kernels
