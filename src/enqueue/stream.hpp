// Stream: MPIX_Stream, a device stream that the program attaches to communicators; without a device, only a handle.
//
// Owner: reference counted; each of its communicators holds a reference. The program owns the device's stream, which
// must outlive the operations enqueued in it. Threads: library lock.
#pragma once

#include <deque>
#include <memory>

#include "base/object.hpp"
#include "comm/info.hpp"
#include "enqueue/words.hpp"
#include "mem/device/program_stream.hpp"

namespace hr::enqueue {

class Operation;
using OperationPointer = std::shared_ptr<Operation>;

class Stream final : public Object {
 public:
  static constexpr ObjectKind kKind = ObjectKind::kStream;
  Stream() noexcept : Object(kKind) {}

  [[nodiscard]] bool has_device() const noexcept { return words_ != nullptr; }

  mem::device::ProgramStream device_;
  WordPool* words_ = nullptr;           // null: no stream of a device
  std::deque<OperationPointer> queue_;  // in stream order; the stream has not reached the first one yet
  bool appending_ = false;              // a thread is submitting work to the device, without the library lock
};

// MPIX_Stream_create. Info keys: "type" ("cudaStream_t", or the devices' own type of streams), and "value", the
// handle's bytes in hexadecimal digits, as MPIX_Info_set_hex writes them. Without a type, the stream has no device.
// Errors: MPI_ERR_INFO_VALUE, MPI_ERR_INFO_NOKEY, MPI_ERR_UNSUPPORTED_OPERATION (a type of another vendor); those of
// ProgramStream::open() and WordPool::open().
Status create_stream(const comm::Info* info, Ref<Stream>* made);

// Writes bytes as an info value: two hexadecimal digits per byte, in memory order.
[[nodiscard]] std::string hex_of(std::span<const std::byte> bytes);

}  // namespace hr::enqueue
