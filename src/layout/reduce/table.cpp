#include "layout/reduce/kernels.hpp"

namespace hr::layout::reduce {
namespace {

bool wide_vectors() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0;
#else
  return false;
#endif
}

Table make() noexcept {
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

constinit std::atomic<const Table*> detail::table{nullptr};

const Table& detail::make_table() noexcept {
  static const Table made = make();
  table.store(&made, std::memory_order_release);
  return made;
}

}  // namespace hr::layout::reduce
