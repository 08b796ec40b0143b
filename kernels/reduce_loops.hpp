// reduce_loops.hpp: loops of the reduction kernels through memory, for any element type and operation.
//
// If the addresses allow it, threads work on vectors of 16 bytes: all inputs of a vector (of several vectors, for some
// numbers of inputs) are loaded before any is combined, so that enough bytes are in flight to saturate NVLink, and a
// short message costs only one round trip. The last threads of the grid, which get no vector if there are enough
// threads, combine the elements before the first and after the last vector.
#pragma once

#include <cstdint>
#include <cstring>

#include "portability.hpp"
#include "reduce_arguments.hpp"
#include "reduce_operations.hpp"

namespace hr::reduce_kernels {

using kernels::ReduceArguments;

struct alignas(16) Vector {
  std::uint64_t low, high;
};

// --- one element, member by member so that padding is not touched ---

template <class T>
struct Element {
  static constexpr bool kPadded = false;
  HR_DEVICE T load(std::uint64_t address) { return *reinterpret_cast<const T*>(address); }
  HR_DEVICE void store(std::uint64_t address, T value) { *reinterpret_cast<T*>(address) = value; }
  HR_DEVICE T load_bytes(std::uint64_t address) {
    unsigned char bytes[sizeof(T)];
    HR_UNROLL
    for (unsigned i = 0; i < sizeof(T); ++i) bytes[i] = reinterpret_cast<const unsigned char*>(address)[i];
    T value;
    memcpy(&value, bytes, sizeof value);
    return value;
  }
  HR_DEVICE void store_bytes(std::uint64_t address, T value) {
    unsigned char bytes[sizeof(T)];
    memcpy(bytes, &value, sizeof value);
    HR_UNROLL
    for (unsigned i = 0; i < sizeof(T); ++i) reinterpret_cast<unsigned char*>(address)[i] = bytes[i];
  }
};

template <class V, class I>
struct Element<Pair<V, I>> {
  using P = Pair<V, I>;
  static constexpr bool kPadded = sizeof(P) != sizeof(V) + sizeof(I);
  static constexpr unsigned kIndex = sizeof(V) < alignof(I) ? alignof(I) : sizeof(V);  // offset of the index
  HR_DEVICE P load(std::uint64_t address) { return {Element<V>::load(address), Element<I>::load(address + kIndex)}; }
  HR_DEVICE void store(std::uint64_t address, P pair) {
    Element<V>::store(address, pair.value);
    Element<I>::store(address + kIndex, pair.index);
  }
  HR_DEVICE P load_bytes(std::uint64_t address) {
    return {Element<V>::load_bytes(address), Element<I>::load_bytes(address + kIndex)};
  }
  HR_DEVICE void store_bytes(std::uint64_t address, P pair) {
    Element<V>::store_bytes(address, pair.value);
    Element<I>::store_bytes(address + kIndex, pair.index);
  }
};

// --- units: what a thread loads, combines and stores at a time; kBatch inputs are loaded together ---

template <class T>
struct ByVectors {
  using Unit = Vector;
  static constexpr unsigned kBatch = 8;
  HR_DEVICE Vector load(std::uint64_t address) { return *reinterpret_cast<const Vector*>(address); }
  HR_DEVICE void store(std::uint64_t address, Vector value) { *reinterpret_cast<Vector*>(address) = value; }
  template <class Op>
  HR_DEVICE Vector combine(const Op& op, Vector left, Vector right) {
    if constexpr (Op::kWordwise) {
      return {op(left.low, right.low), op(left.high, right.high)};
    } else {
      constexpr unsigned kElements = sizeof(Vector) / sizeof(T);
      T a[kElements], b[kElements];
      memcpy(a, &left, sizeof left);
      memcpy(b, &right, sizeof right);
      HR_UNROLL
      for (unsigned i = 0; i < kElements; ++i) a[i] = op(a[i], b[i]);
      Vector result;
      memcpy(&result, a, sizeof result);
      return result;
    }
  }
};

template <class T>
struct ByElements {
  using Unit = T;
  static constexpr unsigned kBatch = 8;
  HR_DEVICE T load(std::uint64_t address) { return Element<T>::load(address); }
  HR_DEVICE void store(std::uint64_t address, T value) { Element<T>::store(address, value); }
  template <class Op>
  HR_DEVICE T combine(const Op& op, T left, T right) {
    return op(left, right);
  }
};

template <class T>
struct ByBytes : ByElements<T> {
  static constexpr unsigned kBatch = 1;  // small code, as it is rarely used
  HR_DEVICE T load(std::uint64_t address) { return Element<T>::load_bytes(address); }
  HR_DEVICE void store(std::uint64_t address, T value) { Element<T>::store_bytes(address, value); }
};

// Combines one unit of any number of inputs, and returns the result. input(i) returns the unit's address in input i.
template <class Access, class Op, class Input>
HR_DEVICE typename Access::Unit combined(unsigned ninputs, const Op& op, const Input& input) {
  using Unit = typename Access::Unit;
  constexpr unsigned kBatch = Access::kBatch;
  Unit value = Access::load(input(0));
  HR_NO_UNROLL
  for (unsigned from = 1; from < ninputs; from += kBatch) {
    Unit next[kBatch];
    HR_UNROLL
    for (unsigned k = 0; k < kBatch; ++k) {
      if (from + k < ninputs) next[k] = Access::load(input(from + k));
    }
    HR_UNROLL
    for (unsigned k = 0; k < kBatch; ++k) {
      if (from + k < ninputs) value = Access::combine(op, value, next[k]);
    }
  }
  return value;
}

// Selects those of the arguments' buffers that take part.
struct Sides {
  unsigned input, ninputs;  // index of the first input, and number of inputs
  unsigned output, noutputs;
  std::uint64_t shift;  // bytes from an element's position in the inputs to that in the outputs
};
HR_DEVICE Sides all_sides(const ReduceArguments& args) { return {0, args.ninputs, 0, args.noutputs, 0}; }

// Combines one unit, `offset` bytes into every input, of any number of inputs.
template <class Access, class Op>
HR_DEVICE void combine_at(const ReduceArguments& args, const Sides& sides, const Op& op, std::uint64_t offset) {
  const auto value =
      combined<Access>(sides.ninputs, op, [&](unsigned input) { return args.inputs[sides.input + input] + offset; });
  HR_NO_UNROLL
  for (unsigned i = 0; i < sides.noutputs; ++i)
    Access::store(args.outputs[sides.output + i] + offset + sides.shift, value);
}

// Combines several vectors of kInputs inputs at a time, `step` apart, starting at vector *at; stops before an
// incomplete group.
template <unsigned kInputs, unsigned kInFlight, class T, class Op>
HR_DEVICE void combine_groups(const ReduceArguments& args, const Sides& sides, const Op& op, std::uint64_t start,
                              std::uint64_t step, std::uint64_t vectors, std::uint64_t* at) {
  const std::uint64_t stride = step * sizeof(Vector);
  HR_NO_UNROLL
  for (; *at + (kInFlight - 1) * step < vectors; *at += kInFlight * step) {
    const std::uint64_t offset = start + *at * sizeof(Vector);
    Vector loaded[kInputs][kInFlight];
    HR_UNROLL
    for (unsigned i = 0; i < kInputs; ++i) {
      const std::uint64_t from = args.inputs[sides.input + i] + offset;
      HR_UNROLL
      for (unsigned k = 0; k < kInFlight; ++k) loaded[i][k] = ByVectors<T>::load(from + k * stride);
    }
    HR_UNROLL
    for (unsigned i = 1; i < kInputs; ++i) {
      HR_UNROLL
      for (unsigned k = 0; k < kInFlight; ++k) loaded[0][k] = ByVectors<T>::combine(op, loaded[0][k], loaded[i][k]);
    }
    HR_NO_UNROLL
    for (unsigned i = 0; i < sides.noutputs; ++i) {
      const std::uint64_t to = args.outputs[sides.output + i] + offset + sides.shift;
      HR_UNROLL
      for (unsigned k = 0; k < kInFlight; ++k) ByVectors<T>::store(to + k * stride, loaded[0][k]);
    }
  }
}

// Elements [first, first + count) of the inputs, and the position of this thread among the `step` threads that combine
// them.
struct Span {
  std::uint64_t first, count;
  std::uint64_t thread, step;
};

// Combines `span` of the buffers that `sides` selects; `first`, `count` and the numbers of buffers in `args` are not
// used. kInputs, kMore: numbers of inputs for which there are dedicated loops; kMore: 0 or 4.
template <unsigned kInputs, class T, unsigned kMore = 0, class Op>
HR_DEVICE void combine_span(const ReduceArguments& args, const Sides& sides, const Op& op, const Span& span) {
  const std::uint64_t step = span.step, thread = span.thread, count = span.count;
  const std::uint64_t start = span.first * sizeof(T);

  if (args.access == kernels::kReduceByBytes) {
    HR_NO_UNROLL
    for (std::uint64_t e = thread; e < count; e += step) combine_at<ByBytes<T>>(args, sides, op, start + e * sizeof(T));
    return;
  }

  std::uint64_t head = count;    // elements before the first vector
  std::uint64_t in_vectors = 0;  // elements combined as vectors
  if constexpr (!Element<T>::kPadded) {
    if (args.access == kernels::kReduceByVectors) {
      const std::uint64_t unaligned = (0 - (args.inputs[sides.input] + start)) % sizeof(Vector) / sizeof(T);
      head = unaligned < count ? unaligned : count;
      const std::uint64_t vectors = (count - head) * sizeof(T) / sizeof(Vector);
      in_vectors = vectors * (sizeof(Vector) / sizeof(T));
      const std::uint64_t first = start + head * sizeof(T);
      std::uint64_t at = thread;
      if (sides.ninputs == kInputs) {
        combine_groups<kInputs, 4, T>(args, sides, op, first, step, vectors, &at);
        combine_groups<kInputs, 2, T>(args, sides, op, first, step, vectors, &at);
      }
      if constexpr (kMore != 0) {
        if (sides.ninputs == kMore) combine_groups<kMore, 2, T>(args, sides, op, first, step, vectors, &at);
      }
      HR_NO_UNROLL
      for (; at < vectors; at += step) combine_at<ByVectors<T>>(args, sides, op, first + at * sizeof(Vector));
    }
  }
  HR_NO_UNROLL
  for (std::uint64_t e = step - 1 - thread; e < count - in_vectors; e += step) {
    combine_at<ByElements<T>>(args, sides, op, start + (e < head ? e : e + in_vectors) * sizeof(T));
  }
}

// Combines everything that the arguments describe, with all threads of the launch.
template <unsigned kInputs, class T, class Op>
HR_DEVICE void combine(const ReduceArguments& args, const Op& op) {
  combine_span<kInputs, T>(args, all_sides(args), op,
                           {args.first, args.count, std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x,
                            std::uint64_t{gridDim.x} * blockDim.x});
}

}  // namespace hr::reduce_kernels
