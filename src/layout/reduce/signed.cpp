#include <cstdint>

#include "layout/reduce/loops.hpp"

namespace hr::layout::reduce {
namespace {
constexpr auto kRecords = join(kIntegerRecords<Basic::kInt8, std::int8_t, std::uint8_t>,
                               kIntegerRecords<Basic::kInt16, std::int16_t, std::uint16_t>,
                               kIntegerRecords<Basic::kInt32, std::int32_t, std::uint32_t>,
                               kIntegerRecords<Basic::kInt64, std::int64_t, std::uint64_t>);
}
std::span<const KernelRecord> signed_kernels() noexcept { return kRecords.records; }
}  // namespace hr::layout::reduce
