// Hints of the program on a file's accesses (MPI 5.0 section 14.2.8), by the names that ROMIO gave them.
//
// Unknown keys are ignored; meaningless values leave the present one. Owner: the File.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/info.hpp"

namespace hr::io {

enum class Choice : std::uint8_t { kAutomatic, kEnable, kDisable };

struct Hints {
  std::size_t collective_buffer = std::size_t{4} << 20;  // cb_buffer_size: of each process that works for others
  int aggregators = 0;                                   // cb_nodes; 0: not asked for
  Choice collective_read = Choice::kAutomatic;           // romio_cb_read
  Choice collective_write = Choice::kAutomatic;          // romio_cb_write
  Choice sieve_reads = Choice::kAutomatic;               // romio_ds_read
  std::size_t sieve_buffer = std::size_t{4} << 20;       // ind_rd_buffer_size
  std::size_t write_buffer = std::size_t{4} << 20;       // ind_wr_buffer_size: for packed data before it is written
  std::size_t striping_unit = 0;                         // alignment of the aggregators' ranges; 0: pages
  int striping_factor = 0;                               // accepted, for the file system to know
  int permissions = -1;                                  // file_perm, octal; -1: 0666 less the umask
  Ref<comm::Info> others;                                // the standard's other reserved keys, as given

  // Takes the known keys of an info.
  void take(const comm::Info& info);
  // Returns the hints in use.
  [[nodiscard]] Ref<comm::Info> report() const;
};

}  // namespace hr::io
