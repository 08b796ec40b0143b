// Reductions by kernels: elements of device buffers, also of peer devices that the context may access, are combined
// where they are (kernels/reduce.cu), with the results of layout::apply() bit by bit.
//
// Owner: none; the buffers are the caller's, and the caller waits for the stream. Threads: under the library lock.
#pragma once

#include <cstdint>

#include "base/count.hpp"
#include "base/status.hpp"
#include "layout/datatype.hpp"
#include "layout/op.hpp"
#include "layout/view.hpp"
#include "mem/cuda/context.hpp"
#include "reduce_arguments.hpp"

namespace hr::layout::cuda {

// True if a kernel combines elements of this predefined type by this predefined operation: all for which apply() has a
// loop, except those on long double and 16-byte reals. Does not tell if the operation is defined for the type
// (check_op()), nor if this context has kernels.
[[nodiscard]] bool can_reduce(const Op& op, const Datatype& type) noexcept;

inline constexpr int kMaxReduceSides = kernels::kReduceSides;

// outputs[*][e] = inputs[0][e] op inputs[1][e] op ..., from left to right, for e in [first, first + count). Elements
// lie type.extent() bytes apart; the padding of pairs (MPI_DOUBLE_INT) is neither read nor written. An output may be
// the same address as an input; otherwise buffers do not overlap. One input is copied.
struct Reduction {
  mem::cuda::DeviceAddress inputs[kMaxReduceSides] = {};
  int ninputs = 0;
  mem::cuda::DeviceAddress outputs[kMaxReduceSides] = {};
  int noutputs = 0;
  Count first = 0;
  Count count = 0;
};

// A reduction as launch_reduce() launches it, for callers that add to the arguments.
struct ReduceKernel {
  const char* name = nullptr;
  kernels::ReduceArguments arguments{};
  std::uint64_t units = 0;  // of work: one thread each suffices
};
// Without a name if can_reduce(op, type) does not hold.
[[nodiscard]] ReduceKernel reduce_kernel(const Op& op, const Datatype& type, const Reduction& reduction) noexcept;

// inout[i] = in[i] op inout[i], as by apply(), for two views of as many elements of one type that are both on devices;
// complete on return. `done` stays false, and nothing has happened, if no kernel can do it: the caller goes through
// host memory.
Status apply(const Op& op, const View& in, const View& inout, bool* done);

// Launches one kernel on the context's stream; does not wait. `launched` stays false if there is none. The context must
// be current.
Status launch_reduce(mem::cuda::Context& context, const Op& op, const Datatype& type, const Reduction& reduction,
                     bool* launched);
// Does the same for the result of reduce_kernel(), on any stream of the context.
Status launch_reduce(mem::cuda::Context& context, mem::cuda::StreamHandle stream, ReduceKernel& kernel, bool* launched);

}  // namespace hr::layout::cuda
