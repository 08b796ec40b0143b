#include <array>

#include "layout/reduce/kernels.hpp"

namespace hr::layout::reduce {
namespace {

constexpr std::size_t kOps = static_cast<std::size_t>(OpKind::kNoOp) + 1;
using Table = std::array<std::array<Kernel, kBasicCount>, kOps>;

bool wide_vectors() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

Table make_table() noexcept {
  const bool wide = wide_vectors();
  Table table{};
  for (const auto list : {signed_kernels(), unsigned_kernels(), float_kernels(), wide_kernels(), complex_kernels(),
                          logical_kernels(), pair_kernels()}) {
    for (const KernelRecord& record : list) {
      table[static_cast<std::size_t>(record.op)][static_cast<std::size_t>(record.type)] =
          wide && record.wide != nullptr ? record.wide : record.kernel;
    }
  }
  return table;
}

}  // namespace

Kernel find_kernel(OpKind op, Basic type) noexcept {
  static const Table table = make_table();
  return table[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

}  // namespace hr::layout::reduce
