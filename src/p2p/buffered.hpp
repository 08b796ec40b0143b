// BufferPool: the attached buffer for buffered sends (MPI 5.0 section 3.6) of the process, a communicator or a session.
//
// A buffered send copies its packed data here and completes; the copy is freed when the message has left. The user's
// buffer must have space for the data and 64 more bytes per message, or the send fails with MPI_ERR_BUFFER; an
// automatic buffer grows as needed.
// Owner: the object to which the buffer is attached; the pool outlives its pending sends, as detach and flush wait for
// them. Threads: library lock.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "p2p/p2p.hpp"

namespace hr::p2p {

class BufferPool {
 public:
  BufferPool() = default;
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  [[nodiscard]] bool attached() const noexcept { return attached_; }
  // Attaches a buffer. Errors: MPI_ERR_BUFFER if there is one already. `automatic`: the library provides the memory.
  Status attach(void* address, Count size, bool automatic);
  // Waits for all pending sends, then returns the attached buffer.
  Status detach(void** address, Count* size);
  Status flush();
  // Used by non-blocking flushes. mark(): number of the next message. gone(): true if all messages with smaller numbers
  // have left.
  [[nodiscard]] std::uint64_t mark() const noexcept { return next_; }
  [[nodiscard]] bool gone(std::uint64_t mark) const noexcept;
  // Frees the space of messages that have left, without waiting.
  void reap();

  // Packs the data here and starts the send; for the caller, the request is complete immediately.
  Status send(const layout::View& data, int to_proc, const Envelope& envelope);
  // Returns kOk if there is space for a message of this length now, else MPI_ERR_BUFFER.
  Status check_room(std::size_t bytes);

 private:
  struct Pending {
    Request* request;
    std::size_t at;         // offset in the user's buffer
    std::byte* own_memory;  // automatic buffers
    std::uint64_t number;
  };
  // Finds space for a message and its overhead. Errors: MPI_ERR_BUFFER; never for an automatic buffer.
  Status room_for(std::size_t wanted, std::size_t* at);
  // Finds a free range; false if there is none. *at: its offset.
  bool find_room(std::size_t bytes, std::size_t* at);

  bool attached_ = false;
  bool automatic_ = false;
  std::byte* address_ = nullptr;
  std::size_t size_ = 0;
  std::map<std::size_t, std::size_t> used_;  // offset -> bytes
  std::vector<Pending> pending_;
  std::uint64_t next_ = 0;
};

// Buffer of the process (MPI_Buffer_attach); lives as long as the engine.
BufferPool& process_buffer();

}  // namespace hr::p2p
