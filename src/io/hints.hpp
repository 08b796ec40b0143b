// The program's hints about accesses to a file (MPI 5.0 section 14.2.8), with ROMIO's names.
//
// Unknown keys are ignored; an invalid value leaves the current one unchanged. Owner: the File.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/info.hpp"

namespace hr::io {

enum class Choice : std::uint8_t { kAutomatic, kEnable, kDisable };

struct Hints {
  std::size_t collective_buffer = std::size_t{4} << 20;  // cb_buffer_size, per aggregator
  int aggregators = 0;                                   // cb_nodes; 0: not set
  Choice collective_read = Choice::kAutomatic;           // romio_cb_read
  Choice collective_write = Choice::kAutomatic;          // romio_cb_write
  Choice sieve_reads = Choice::kAutomatic;               // romio_ds_read
  std::size_t sieve_buffer = std::size_t{4} << 20;       // ind_rd_buffer_size
  std::size_t write_buffer = std::size_t{4} << 20;       // ind_wr_buffer_size, for packing data before it is written
  std::size_t striping_unit = 0;                         // alignment of the aggregators' ranges; 0: pages
  int striping_factor = 0;                               // accepted, but not used
  int permissions = -1;                                  // file_perm, octal; -1: 0666 without the bits of the umask
  Ref<comm::Info> others;                                // the standard's other reserved keys, as given

  // Sets the hints whose keys `info` contains.
  void take(const comm::Info& info);
  // Returns the hints in use.
  [[nodiscard]] Ref<comm::Info> report() const;
};

}  // namespace hr::io
