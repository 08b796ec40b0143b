// The collective operations as data: how to call each form, the size of its buffers, and their content afterwards.
//
// A buffer is a number of blocks of `count` elements. An operation moves or adds whole blocks, so one formula yields
// every element that a rank must receive. The check is exact: values are small integers, whose sums fit every type.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace bench {

// One rank's role in the operation. Must outlive the calls made with it.
struct Place {
  int rank = 0, ranks = 1;
  MPI_Comm comm = MPI_COMM_NULL;
  std::vector<int> neighbours;  // neighbours in a Cartesian communicator: along each axis the lower, then the upper
};

// Returns the ranks next to `rank` in a periodic grid of these sizes: along each axis the lower, then the upper.
std::vector<int> grid_neighbours(int rank, const std::vector<int>& sizes);
// Returns this rank's place in a communicator with such a grid, which the caller frees. A size of 0: MPI chooses.
// Collective.
Place cartesian_place(MPI_Comm comm, std::vector<int> sizes);

// The arguments of one call.
struct Call {
  Call(const Place& place, int blocks, int count, MPI_Datatype type, int element_bytes, void* send, void* receive);

  void* send;
  void* receive;
  int count;  // number of elements of a block
  MPI_Datatype type;
  MPI_Comm comm;
  std::vector<int> counts, displacements,
      byte_displacements;  // counts and displacements of equal blocks, for the v and w forms
  std::vector<MPI_Datatype> types;
};

inline constexpr int kRoot = 0;

struct Operation {
  const char* name;
  bool neighbourhood;  // needs a periodic Cartesian communicator
  bool apart;          // a rank may leave before others enter, so calls are separated by a barrier
  int (*send_blocks)(const Place& place);
  int (*receive_blocks)(const Place& place);
  // Returns element `i` of block `block` of the receive buffer; each block has `count` elements.
  long (*expected)(const Place& place, int block, std::size_t i, std::size_t count);
  bool starts_in_receive;                    // the root's data is in the receive buffer (MPI_Bcast)
  double (*bus_factor)(const Place& place);  // ratio of bus to algorithm bandwidth, as in nccl-tests

  void (*blocking)(const Call& call);
  void (*start)(const Call& call, MPI_Request* request);
  void (*init)(const Call& call, MPI_Request* request);
};

std::span<const Operation> operations();
const Operation* find_operation(const std::string& name);  // null if there is none

// Returns element `i` of the data that `rank` sends.
inline long sent_value(int rank, std::size_t i) {
  return 1 + static_cast<long>((static_cast<std::size_t>(rank) * 31 + i * 7 + i / 977) % 101);
}

}  // namespace bench
