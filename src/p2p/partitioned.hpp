// Partitioned communication (MPI 5.0 chapter 4): one persistent message, whose partitions the sender marks as ready one
// at a time, and whose receiver can test for the arrival of each of its own partitions.
//
// The two sides match once, in the order of their init calls, by context, source and tag, separately from all other
// messages (section 4.2.1). The sender sends an RTS at init; the matching receive answers with the tags of the sender's
// partitions. From then on, each of these is an ordinary message once it is ready, in the context for partitioned
// communication, so that its protocol suits its memory, and the receiver has a receive posted for each. A partition of
// the sender that begins or ends within an element of the receiver's type is received into separate memory and
// unpacked.
//
// The numbers of partitions, counts and types of the two sides are independent; the bytes of all partitions together
// must be equal, or both sides get MPI_ERR_TRUNCATE.
// Owner: the request owns the operation. Memory: as for other persistent requests. Threads: library lock.
#pragma once

#include "p2p/p2p.hpp"

namespace hr::p2p {

class PartitionMarks;

struct PartitionedArguments {
  layout::View data;   // data of all partitions
  int partitions = 0;  // data.count / partitions elements each
  std::uint32_t context = 0;
  int tag = 0;
  int own_rank = 0;    // rank of this process in the communicator
  int peer_rank = 0;   // rank of the other side
  int peer_proc = -1;  // -1: MPI_PROC_NULL
};

// Both create an inactive request, with one reference, which the caller owns.
Status partitioned_send_init(const PartitionedArguments& arguments, Request** request);
Status partitioned_receive_init(const PartitionedArguments& arguments, Request** request);

[[nodiscard]] bool is_partitioned(const Request& request) noexcept;

// Marks partitions as ready (MPI_Pready and its variants): all of them or, with an error, none. Errors: MPI_ERR_REQUEST
// (not a partitioned send, or not started), MPI_ERR_ARG (no such partition, or already ready).
Status partitions_ready(Request& request, int low, int high);
Status partitions_ready(Request& request, int count, const int* partitions);

// Returns the words with which kernels mark partitions of a send, or test those of a receive (include/mpix-device.h).
// The words live as long as the request; while it is started, every round of progress checks or sets them. Errors:
// MPI_ERR_REQUEST (not partitioned, or started before there were words), MPI_ERR_NO_MEM.
Status partition_marks(Request& request, PartitionMarks** marks, int* partitions);

// Implements MPI_Parrived; makes progress. *arrived: true for a request that is not active. Errors: MPI_ERR_REQUEST
// (not a partitioned receive), MPI_ERR_ARG (no such partition).
Status partition_arrived(Request& request, int partition, bool* arrived);

}  // namespace hr::p2p
