#include "transport/record_list.hpp"

#include "transport/ofi/ofi.hpp"
#include "transport/self/self.hpp"
#include "transport/shm/shm.hpp"
#include "transport/tcp/tcp.hpp"
#include "transport/ucx/ucx.hpp"

namespace hr::transport {

std::span<const Record* const> record_list() noexcept {
  static constexpr const Record* kRecords[] = {
      &self::kRecord, &shm::kRecord, &ofi::kRecord, &ucx::kRecord, &tcp::kRecord,
  };
  return kRecords;
}

}  // namespace hr::transport
