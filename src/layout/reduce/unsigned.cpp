#include <cstdint>

#include "layout/reduce/loops.hpp"

namespace hr::layout::reduce {
namespace {
constexpr auto kRecords =
    join(kIntegerRecords<Basic::kUint8, std::uint8_t>, kIntegerRecords<Basic::kUint16, std::uint16_t>,
         kIntegerRecords<Basic::kUint32, std::uint32_t>, kIntegerRecords<Basic::kUint64, std::uint64_t>);
}  // namespace
std::span<const KernelRecord> unsigned_kernels() noexcept { return kRecords.records; }
}  // namespace hr::layout::reduce
