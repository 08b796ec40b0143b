// Segment: the one shared-memory file of a job on a node, holding a doorbell, shared words and a staging area a
// process, a ring an ordered pair and exchange buffers a pair.
//
// The file is sparse: a ring gets memory when its sender first connects, more when it first needs it (reserve(), so
// that a full /dev/shm is an error and not a bus error later), a staging area when its process first stages something.
// The lowest rank of the node creates it, without a name wherever it can, so that no death of a process leaves it
// behind; the others open it through the creator's descriptor, and the creator keeps that until all have it (settle()).
// Where it needs a name the last one to attach unlinks it. Owner: the shm transport. Threads: library lock.
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
    int processes = 0;              // on the node
    std::size_t payload_bytes = 0;  // of each ring
    std::size_t staging_bytes = 0;  // of each process's staging area
    int exchange_buffers = 0;       // of each pair
  };
  // Errors: those of SharedFile.
  Status create(const std::string& path, const Sizes& sizes);
  Status attach(const std::string& path, const Sizes& sizes);
  // By each of processes that have agreed on nothing but the path: the first one's sizes hold for all. The last one
  // takes the name away. Errors: also MPI_ERR_OTHER where that file is none for so many processes.
  Status create_or_attach(const std::string& path, const Sizes& sizes);
  // Before a process leaves such a segment: not all may have come.
  void forget_name() noexcept {
    if (file_.data() != nullptr && !all_attached()) file_.unlink();
  }
  [[nodiscard]] int descriptor() const noexcept { return file_.descriptor(); }
  // What the others attach to.
  [[nodiscard]] std::string name() const { return file_.name(); }
  // Before the creator leaves: waits a moment for those who have not attached yet, and else leaves them the file under
  // the name it was created for.
  void settle() noexcept;

  // Makes sure that the first bytes of the ring's payload, and what comes before them, the area has memory.
  Status reserve(int receiver, int sender, std::size_t payload_bytes);
  // The same of an exchange buffer of two processes.
  Status reserve_exchange_buffer(int one, int other, int index);
  Status reserve_staging(int process);

  [[nodiscard]] Doorbell* doorbell(int process) const noexcept;
  [[nodiscard]] std::span<SharedWord> words(int process) const noexcept;
  [[nodiscard]] RingMemory* ring(int receiver, int sender) const noexcept;
  // Where the exchange buffers of two processes lie, one behind the other.
  [[nodiscard]] std::byte* exchange_buffers(int one, int other) const noexcept {
    return file_.data() + exchange_buffer_offset(one, other);
  }
  [[nodiscard]] std::span<std::byte> staging(int process) const noexcept;
  [[nodiscard]] const Sizes& sizes() const noexcept { return sizes_; }
  [[nodiscard]] std::size_t payload_bytes() const noexcept { return sizes_.payload_bytes; }

 private:
  void lay_out(const Sizes& sizes);
  void count_attached();
  [[nodiscard]] bool all_attached() const noexcept;
  [[nodiscard]] std::size_t ring_offset(int receiver, int sender) const noexcept;
  [[nodiscard]] std::size_t exchange_buffer_offset(int one, int other) const noexcept;
  [[nodiscard]] std::size_t staging_offset(int process) const noexcept;

  SharedFile file_{"make rings smaller with HEADRACE_SHM_RING_BYTES"};
  Sizes sizes_;
  std::size_t bytes_ = 0;
  std::size_t words_offset_ = 0;   // behind the doorbells
  std::size_t control_bytes_ = 0;  // head, doorbells and words
  std::size_t area_bytes_ = 0;     // staging_bytes, in whole pages
};

}  // namespace hr::transport::shm
