// Stream: MPIX_Stream, a stream of a device that the program gives to communicators; or, without one, a name only.
//
// Owner: reference counted; each of its communicators holds a reference. The program owns the device's stream, which
// must outlive what is enqueued. Threads: library lock.
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
  std::deque<OperationPointer> queue_;  // in the order of the stream; it has not come to the first one yet
  bool appending_ = false;              // a thread gives the device work, without the library lock
};

// MPIX_Stream_create. Info keys: "type" ("cudaStream_t"), and "value", the handle's bytes in hexadecimal digits, as
// MPIX_Info_set_hex writes them. Without a type it has no device. Errors: MPI_ERR_INFO_VALUE, MPI_ERR_INFO_NOKEY,
// MPI_ERR_UNSUPPORTED_OPERATION (a type of another maker); those of ProgramStream::open().
Status create_stream(const comm::Info* info, Ref<Stream>* made);

// Writes bytes as an info value: two hexadecimal digits for each, in the order of memory.
[[nodiscard]] std::string hex_of(std::span<const std::byte> bytes);

}  // namespace hr::enqueue
