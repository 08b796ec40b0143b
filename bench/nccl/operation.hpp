// The compared operations, as data: the same exchange with MPI, with NCCL and, for messages, with bare copies.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "collective/operation.hpp"
#include "nccl/library.hpp"

namespace bench {

// A message: one block of a rank's send buffer, received into a block of another rank's receive buffer.
struct Transfer {
  int from, to;
  int from_block, to_block;
};

// The buffers of one rank for one operation and size.
struct Exchange {
  const Place& place;
  const Nccl& nccl;
  gpu::Stream stream;
  float* send;
  float* receive;
  std::size_t count;  // number of floats of a block
};

struct Compared {
  std::string name;
  const Operation* collective;  // null: messages of `transfers`
  int blocks;                   // number of blocks of the larger buffer
  std::vector<Transfer>
      transfers;  // transfers of all ranks; for a collective, the transfers that replace a function that NCCL lacks
  void (*nccl)(const Exchange&);  // null: a group of ncclSend and ncclRecv

  // False if NCCL has neither a function nor messages for the operation: scans, which depend on the order of ranks.
  [[nodiscard]] bool in_nccl() const { return nccl != nullptr || !transfers.empty(); }
};

// Returns the sizes of the grid in which ranks are neighbours, as square as possible. Works before MPI_Init.
inline constexpr int kAxes = 2;
std::vector<int> grid_of(int ranks);

// Returns all operations for this number of ranks.
std::vector<Compared> compared(int ranks);

// Enqueues the operation in the stream.
void by_nccl(const Compared& operation, const Exchange& exchange);
// Exchanges the messages; a rank with one to send and one to receive uses MPI_Sendrecv.
void by_messages(const Compared& operation, const Exchange& exchange);

}  // namespace bench
