// Kernels of the predefined reductions: result[i] = left[i] op right[i] over arrays of one representation.
//
// Each file of this folder instantiates one family of types and provides a list of records; find_kernel() looks them up
// in a table made from all lists. A new representation needs a new file and a line in table.cpp. `result` is `right`,
// or overlaps neither; `left` overlaps no other. Threads: any; no state.
#pragma once

#include <cstddef>
#include <span>

#include "layout/basic.hpp"
#include "layout/op.hpp"

namespace hr::layout::reduce {

using Kernel = void (*)(const void* left, const void* right, void* result, std::size_t count);

struct KernelRecord {
  OpKind op;
  Basic type;
  Kernel kernel;
  Kernel wide = nullptr;  // the same for processors with wider vectors (wide_vectors()), if that pays
};

// Returns null if the operation is not defined for the representation.
Kernel find_kernel(OpKind op, Basic type) noexcept;

std::span<const KernelRecord> signed_kernels() noexcept;
std::span<const KernelRecord> unsigned_kernels() noexcept;
std::span<const KernelRecord> float_kernels() noexcept;
std::span<const KernelRecord> wide_kernels() noexcept;  // half, bfloat16, long double, quadruple, 128-bit integers
std::span<const KernelRecord> complex_kernels() noexcept;
std::span<const KernelRecord> logical_kernels() noexcept;
std::span<const KernelRecord> pair_kernels() noexcept;

}  // namespace hr::layout::reduce
