#include <cstdint>

#include "layout/reduce/loops.hpp"

namespace hr::layout::reduce {
namespace {
// MPI_BYTE knows the bitwise operations only (section 6.9.2).
constexpr KernelRecord kByteRecords[] = {
    {OpKind::kBand, Basic::kByte, loop<std::uint8_t, Band>, wide_loop<std::uint8_t, Band>},
    {OpKind::kBor, Basic::kByte, loop<std::uint8_t, Bor>, wide_loop<std::uint8_t, Bor>},
    {OpKind::kBxor, Basic::kByte, loop<std::uint8_t, Bxor>, wide_loop<std::uint8_t, Bxor>},
};
constexpr auto kRecords =
    join(kIntegerRecords<Basic::kUint8, std::uint8_t>, kIntegerRecords<Basic::kUint16, std::uint16_t>,
         kIntegerRecords<Basic::kUint32, std::uint32_t>, kIntegerRecords<Basic::kUint64, std::uint64_t>, kByteRecords);
}  // namespace
std::span<const KernelRecord> unsigned_kernels() noexcept { return kRecords.records; }
}  // namespace hr::layout::reduce
