// DeviceAddresses: where this process's buffers are, for the GPUs of the other processes. Each process publishes its
// DeviceAddresses next to its flag line (shared/segment.hpp) at the start of an operation that begins with an exchange
// of device addresses.
//
// Reductions describe two buffers. Operations that move data describe pieces: data that this process sends, its layout
// in memory, and its reader. Trivially copyable: contains numbers, and addresses that are valid in the process that
// wrote them. Owner: the process's flag lines, until all processes have finished the operation. Written before the
// flag, read after it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "coll/shared/segment.hpp"
#include "layout/device/side.hpp"
#include "mem/device/ipc.hpp"

namespace hr::coll::device {

// A buffer that is described as one range, not as pieces: an operand of a reduction, or a receive buffer into which
// other processes store (bcast, gather). Always contiguous.
struct Buffer {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // 0: the operation does not use it on this process
  std::uint64_t allocation = 0;
};

inline constexpr std::int32_t kEverybody = -1;

struct Piece {
  static constexpr std::uint32_t kNoList = ~std::uint32_t{0};

  layout::device::SideShape side;
  std::uint64_t bytes = 0;  // packed; 0: `side` and the fields that follow are unused
  std::int32_t reader = kEverybody;
  std::uint32_t allocation = 0;
  std::uint32_t list = kNoList;  // allocation of the side's block list
  std::uint32_t reserved = 0;
};

struct DeviceAddresses {
  static constexpr std::uint32_t kReachable = 1;  // true if all data of this process is on a device and can be mapped
  static constexpr std::uint32_t kTyped = 2;      // some data of this process is not contiguous
  static constexpr std::uint32_t kKernels = 4;    // this process can read data that is not contiguous
  static constexpr std::uint32_t kUnproven = 8;   // not yet verified that others can map this process's data,
                                                  // and that it can map theirs
  static constexpr std::uint32_t kMoved = 16;     // this process maps in another context than before
  static constexpr std::uint32_t kMaxAllocations = 24;
  static constexpr std::uint32_t kMaxPieces = 80;

  std::uint32_t flags;
  std::uint32_t allocation_count;
  std::uint32_t piece_count;
  std::uint32_t reserved;
  std::uint64_t locality;  // locality of the device on which this process's work runs (mem/device/context.hpp); 0: none
  Buffer send;             // send buffer; the same as recv if in place
  Buffer recv;
  mem::device::Export allocations[kMaxAllocations];
  Piece pieces[kMaxPieces];

  // Returns the number of bytes in use.
  [[nodiscard]] std::size_t length() const noexcept {
    return offsetof(DeviceAddresses, pieces) + piece_count * sizeof(Piece);
  }
  [[nodiscard]] bool has(std::uint32_t flag) const noexcept { return (flags & flag) != 0; }
};
static_assert(sizeof(DeviceAddresses) <= shared::kRoomBytes);

}  // namespace hr::coll::device
