// Segment: the shared-memory file of a job on a node. It contains a doorbell, shared words and a staging area per
// process, a ring per ordered pair and exchange buffers per pair. These are followed by the areas of channels, each
// with its own doorbells, rings and exchange buffers (Transport::make_channel()).
//
// The file is sparse. A ring gets memory when its sender first connects, and more when it first needs more; a staging
// area gets memory when its process first stages data. The memory is reserved (reserve()), so that a lack of it is an
// error and not a bus error later. The lowest rank on the node creates the file, without a name wherever possible, so
// that it is never left behind when processes die; and in no directory if /dev/shm has no space for all of it. The
// others open it through the creator's descriptor, which the creator keeps until all have attached (settle()). If the
// file needs a name, the last process to attach unlinks it. Owner: the shm transport. Threads: library lock.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/shared_file.hpp"
#include "transport/shm/doorbell.hpp"
#include "transport/shm/ring.hpp"

namespace hr::transport::shm {

class Segment {
 public:
  struct Sizes {
    int processes = 0;                      // number of processes on the node
    std::size_t payload_bytes = 0;          // payload bytes of each ring
    std::size_t staging_bytes = 0;          // bytes of each process's staging area
    int exchange_buffers = 0;               // number of exchange buffers per pair
    int channels = 0;                       // number of areas of channels
    std::size_t channel_payload_bytes = 0;  // payload bytes of each ring of a channel
  };
  // Returns the size of the whole file.
  [[nodiscard]] static std::size_t bytes_of(const Sizes& sizes) noexcept;

  // Errors: those of SharedFile.
  Status create(const std::string& path, const Sizes& sizes);
  Status attach(const std::string& path, const Sizes& sizes);
  // Called by each process of a group that has agreed on nothing but the path. The sizes of the first process apply to
  // all, and the last one removes the name. Errors include MPI_ERR_OTHER if the file is for a different number of
  // processes.
  Status create_or_attach(const std::string& path, const Sizes& sizes);
  // Makes this the area of `channel` (1 to Sizes::channels) in `whole`, which is mapped and outlives this object.
  Status enter_area(Segment& whole, int channel);
  // Removes the name if some processes have not attached yet. Called before a process leaves a segment of
  // create_or_attach().
  void forget_name() noexcept {
    if (file_.data() != nullptr && !all_attached()) file_.unlink();
  }
  [[nodiscard]] int descriptor() const noexcept { return file_.descriptor(); }
  // Returns the name to which the others attach.
  [[nodiscard]] std::string name() const { return file_.name(); }
  // Called before the creator leaves: waits briefly for processes that have not attached yet; if some still have not,
  // the file gets the name that was passed to create().
  void settle() noexcept;

  // Back the first cells of a ring, or the first bytes of its payload, with memory.
  Status reserve_cells(int receiver, int sender, std::uint64_t cells);
  Status reserve_payload(int receiver, int sender, std::size_t bytes);
  // Backs an exchange buffer of two processes with memory.
  Status reserve_exchange_buffer(int one, int other, int index);
  Status reserve_staging(int process);

  [[nodiscard]] Doorbell* doorbell(int process) const noexcept;
  [[nodiscard]] std::span<SharedWord> words(int process) const noexcept;
  [[nodiscard]] RingMemory* ring(int receiver, int sender) const noexcept;
  // Returns the exchange buffers of two processes, which are adjacent in memory.
  [[nodiscard]] std::byte* exchange_buffers(int one, int other) const noexcept {
    return data() + exchange_buffer_offset(one, other);
  }
  [[nodiscard]] std::span<std::byte> staging(int process) const noexcept;
  [[nodiscard]] const Sizes& sizes() const noexcept { return sizes_; }
  [[nodiscard]] std::size_t payload_bytes() const noexcept { return sizes_.payload_bytes; }

 private:
  void lay_out(const Sizes& sizes) noexcept;
  [[nodiscard]] std::byte* data() const noexcept { return memory_->data() + base_; }
  void count_attached();
  [[nodiscard]] bool all_attached() const noexcept;
  [[nodiscard]] std::size_t ring_offset(int receiver, int sender) const noexcept;
  [[nodiscard]] std::size_t exchange_buffer_offset(int one, int other) const noexcept;
  [[nodiscard]] std::size_t staging_offset(int process) const noexcept;

  SharedFile file_{"make rings smaller with HEADRACE_SHM_RING_BYTES"};
  SharedFile* memory_ = &file_;  // file of the whole segment, if this is a channel's area
  std::size_t base_ = 0;         // offset of the area in the file
  Sizes sizes_;
  std::size_t bytes_ = 0;          // length without the areas of channels
  std::size_t words_offset_ = 0;   // offset of the words, which follow the doorbells
  std::size_t control_bytes_ = 0;  // head, doorbells and words
  std::size_t area_bytes_ = 0;     // staging_bytes, in whole pages
};

}  // namespace hr::transport::shm
