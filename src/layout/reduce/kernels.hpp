// Kernels of the predefined reductions: result[i] = left[i] op right[i] over arrays of one representation.
//
// Each file in this folder instantiates one family of types and provides a list of records; find_kernel() looks kernels
// up in a table of all lists. A new representation needs a new file and a line in table.cpp. `result` is `right`, or
// overlaps neither operand; `left` overlaps no other array. Threads: any; no state.
#pragma once

#include <array>
#include <atomic>
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
  Kernel wide = nullptr;  // kernel for processors with wider vectors (wide_vectors()), if that is faster
};

inline constexpr std::size_t kOps = static_cast<std::size_t>(OpKind::kNoOp) + 1;
using Table = std::array<std::array<Kernel, kBasicCount>, kOps>;
namespace detail {
extern std::atomic<const Table*> table;  // null before first use
[[gnu::cold]] const Table& make_table() noexcept;
}  // namespace detail

// Returns null if the operation is not defined for the representation.
inline Kernel find_kernel(OpKind op, Basic type) noexcept {
  const Table* made = detail::table.load(std::memory_order_acquire);
  const Table& table = made != nullptr ? *made : detail::make_table();
  return table[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

std::span<const KernelRecord> signed_kernels() noexcept;
std::span<const KernelRecord> unsigned_kernels() noexcept;
std::span<const KernelRecord> float_kernels() noexcept;
std::span<const KernelRecord> wide_kernels() noexcept;  // half, bfloat16, long double, quadruple, 128-bit integers
std::span<const KernelRecord> complex_kernels() noexcept;
std::span<const KernelRecord> logical_kernels() noexcept;
std::span<const KernelRecord> pair_kernels() noexcept;

}  // namespace hr::layout::reduce
