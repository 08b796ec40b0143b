// Segment: the one shared-memory file of a job on a node, holding a doorbell a process and a ring an ordered pair.
//
// The file is sparse: a ring gets memory when its sender first connects (reserve(), so that a full /dev/shm is an
// error and not a bus error later). The lowest rank of the node creates it; the last one to attach unlinks it, so
// that no death of a process leaves it behind. Owner: the shm transport. Threads: library lock.
#pragma once

#include <cstddef>
#include <string>

#include "base/shared_file.hpp"
#include "transport/shm/doorbell.hpp"
#include "transport/shm/ring.hpp"

namespace hr::transport::shm {

class Segment {
 public:
  // Both: `processes` on the node, `payload_bytes` of each ring. Errors: those of SharedFile.
  Status create(const std::string& path, int processes, std::size_t payload_bytes);
  Status attach(const std::string& path, int processes, std::size_t payload_bytes);

  // Makes sure that the ring has memory.
  Status reserve(int receiver, int sender);

  [[nodiscard]] Doorbell* doorbell(int process) const noexcept;
  [[nodiscard]] RingMemory* ring(int receiver, int sender) const noexcept;
  [[nodiscard]] std::size_t payload_bytes() const noexcept { return payload_bytes_; }

 private:
  void lay_out(int processes, std::size_t payload_bytes);
  void count_attached();
  [[nodiscard]] std::size_t ring_offset(int receiver, int sender) const noexcept;

  SharedFile file_{"make rings smaller with HEADRACE_SHM_RING_BYTES"};
  std::size_t bytes_ = 0;
  std::size_t control_bytes_ = 0;  // head and doorbells
  std::size_t payload_bytes_ = 0;
  int processes_ = 0;
};

}  // namespace hr::transport::shm
