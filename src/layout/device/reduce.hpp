// Reductions with kernels: combine elements of device buffers in place, including buffers on peer devices that the
// context may access (kernels/reduce.cu). Results are bitwise identical to those of layout::apply().
//
// Owner: none; the buffers are the caller's, and the caller waits for the stream. Threads: under the library lock.
#pragma once

#include <cstdint>

#include "base/count.hpp"
#include "base/status.hpp"
#include "layout/datatype.hpp"
#include "layout/op.hpp"
#include "layout/view.hpp"
#include "mem/device/context.hpp"
#include "reduce_arguments.hpp"

namespace hr::layout::device {

// True if a kernel combines elements of this predefined type with this predefined operation. Kernels exist for all
// combinations for which apply() has a loop, except those on long double and 16-byte reals. Does not check whether the
// operation is defined for the type (check_op()), nor whether this context has kernels.
[[nodiscard]] bool can_reduce(const Op& op, const Datatype& type) noexcept;

inline constexpr int kMaxReduceSides = kernels::kReduceSides;

// outputs[*][e] = inputs[0][e] op inputs[1][e] op ..., from left to right, for e in [first, first + count). Elements
// are type.extent() bytes apart; the padding of pairs (MPI_DOUBLE_INT) is neither read nor written. An output may be at
// the same address as an input; otherwise buffers do not overlap. A single input is copied.
struct Reduction {
  mem::device::DeviceAddress inputs[kMaxReduceSides] = {};
  int ninputs = 0;
  mem::device::DeviceAddress outputs[kMaxReduceSides] = {};
  int noutputs = 0;
  Count first = 0;
  Count count = 0;
};

// A reduction as launch_reduce() launches it, for callers that add to the arguments.
struct ReduceKernel {
  const char* name = nullptr;
  kernels::ReduceArguments arguments{};
  std::uint64_t units = 0;  // units of work: one thread per unit suffices
};
// Returns the kernel for a reduction; its name is null if can_reduce(op, type) is false.
[[nodiscard]] ReduceKernel reduce_kernel(const Op& op, const Datatype& type, const Reduction& reduction) noexcept;

// inout[i] = in[i] op inout[i], as in layout::apply(), for two views of equally many elements of one type, both on
// devices; complete on return. If no kernel can do this, changes nothing, and *done stays false: the caller then uses
// host memory.
Status apply(const Op& op, const View& in, const View& inout, bool* done);

// Launches one kernel on the context's stream; does not wait. *launched stays false if there is none. The context must
// be current.
Status launch_reduce(mem::device::Context& context, const Op& op, const Datatype& type, const Reduction& reduction,
                     bool* launched);
// launch_reduce() for the result of reduce_kernel(), on any stream of the context.
Status launch_reduce(mem::device::Context& context, mem::device::StreamHandle stream, ReduceKernel& kernel,
                     bool* launched);

}  // namespace hr::layout::device
