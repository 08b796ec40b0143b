// Common parts of the programs in this folder: fully checked messages on both sides of an intercommunicator, in its
// collectives, and on the merged communicator. Header only.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/ring.hpp"
#include "common/check.hpp"

namespace family {

inline int value_of(int from, int to, int at) { return from * 1'000'003 + to * 1'009 + at * 7 + 1; }

using check::rank_in;
using check::size_of;
inline int remote_size_of(MPI_Comm comm) {
  int size = -1;
  CHECK_OK(MPI_Comm_remote_size(comm, &size));
  return size;
}

// Every process sends to each process of the other side: empty messages, messages that fit into a cell, longer ones,
// and messages that the receiver fetches.
inline void exchange_messages(MPI_Comm inter) {
  const int own = rank_in(inter);
  const int others = remote_size_of(inter);
  for (const int length : {0, 1, 20, 3000, 400'000}) {
    std::vector<std::vector<int>> sent;
    std::vector<std::vector<int>> received;
    std::vector<MPI_Request> requests;
    for (int other = 0; other < others; ++other) {
      std::vector<int>& values = sent.emplace_back(length);
      for (int at = 0; at < length; ++at) values[at] = value_of(own, other, at);
      received.emplace_back(length + 1, -1);
    }
    for (int other = 0; other < others; ++other) {
      CHECK_OK(MPI_Irecv(received[other].data(), length + 1, MPI_INT, other, length, inter, &requests.emplace_back()));
    }
    for (int other = 0; other < others; ++other) {
      CHECK_OK(MPI_Isend(sent[other].data(), length, MPI_INT, other, length, inter, &requests.emplace_back()));
    }
    std::vector<MPI_Status> statuses(requests.size());
    CHECK_OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), statuses.data()));
    for (int other = 0; other < others; ++other) {
      int count = -1;
      CHECK_OK(MPI_Get_count(&statuses[other], MPI_INT, &count));
      CHECK_EQ(count, length);
      CHECK_EQ(statuses[other].MPI_SOURCE, other);
      for (int at = 0; at < length; ++at) CHECK_EQ(received[other][at], value_of(other, own, at));
      CHECK_EQ(received[other][length], -1);
    }
  }
}

// Collectives between the groups. `first`: this side contains the root, if there is one.
inline void use_between(MPI_Comm inter, bool first) {
  const int own = rank_in(inter);
  const int others = remote_size_of(inter);
  CHECK_OK(MPI_Barrier(inter));
  std::vector<int> values(5000, -1);
  const int root = first ? (own == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
  if (root == MPI_ROOT) {
    for (int at = 0; at < 5000; ++at) values[at] = value_of(17, 4, at);
  }
  CHECK_OK(MPI_Bcast(values.data(), 5000, MPI_INT, root, inter));
  for (int at = 0; !first && at < 5000; ++at) CHECK_EQ(values[at], value_of(17, 4, at));
  const int mine = own + 1;
  int sum = -1;
  CHECK_OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter));
  CHECK_EQ(sum, others * (others + 1) / 2);
  std::vector<int> all(others + 1, -1);
  CHECK_OK(MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, inter));
  for (int other = 0; other < others; ++other) CHECK_EQ(all[other], other + 1);
  CHECK_EQ(all[others], -1);
}

inline void use_within(MPI_Comm comm) {
  const int own = rank_in(comm);
  const int size = size_of(comm);
  for (const int length : {1, 700, 20'000, 100'000}) {
    std::vector<int> mine(length);
    std::vector<int> sum(length + 1, -1);
    for (int at = 0; at < length; ++at) mine[at] = own + at;
    CHECK_OK(MPI_Allreduce(mine.data(), sum.data(), length, MPI_INT, MPI_SUM, comm));
    for (int at = 0; at < length; ++at) CHECK_EQ(sum[at], size * (size - 1) / 2 + size * at);
    CHECK_EQ(sum[length], -1);
  }
  std::vector<int> out(size * 300);
  std::vector<int> in(size * 300, -1);
  for (int to = 0; to < size; ++to) {
    for (int at = 0; at < 300; ++at) out[to * 300 + at] = value_of(own, to, at);
  }
  CHECK_OK(MPI_Alltoall(out.data(), 300, MPI_INT, in.data(), 300, MPI_INT, comm));
  for (int from = 0; from < size; ++from) {
    for (int at = 0; at < 300; ++at) CHECK_EQ(in[from * 300 + at], value_of(from, own, at));
  }
  for (int root = 0; root < size; ++root) {
    int value = own == root ? value_of(root, 3, 9) : -1;
    CHECK_OK(MPI_Bcast(&value, 1, MPI_INT, root, comm));
    CHECK_EQ(value, value_of(root, 3, 9));
  }
}

// Each process writes into the memory of the next one.
inline void share_memory(MPI_Comm node) {
  MPI_Win window = MPI_WIN_NULL;
  int* own = nullptr;
  CHECK_OK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, node, &own, &window));
  *own = -1;
  const int size = size_of(node), rank = rank_in(node);
  MPI_Aint bytes = 0;
  int unit = 0;
  int* next = nullptr;
  CHECK_OK(MPI_Win_shared_query(window, (rank + 1) % size, &bytes, &unit, &next));
  CHECK_OK(MPI_Win_fence(0, window));
  *next = 1000 + rank;
  CHECK_OK(MPI_Win_fence(0, window));
  CHECK_EQ(*own, 1000 + (rank + size - 1) % size);
  CHECK_OK(MPI_Win_free(&window));
}

// Runs everything on the intercommunicator, a duplicate, a part, and the merged communicators of both orders. `first`:
// true on one side only.
inline void use(MPI_Comm inter, bool first) {
  int flag = 0;
  CHECK_OK(MPI_Comm_test_inter(inter, &flag));
  CHECK_EQ(flag, 1);
  exchange_messages(inter);
  use_between(inter, first);
  MPI_Comm copy = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_dup(inter, &copy));
  exchange_messages(copy);
  CHECK_OK(MPI_Comm_disconnect(&copy));
  for (const bool high : {first, !first}) {
    MPI_Comm merged = MPI_COMM_NULL;
    CHECK_OK(MPI_Intercomm_merge(inter, high ? 1 : 0, &merged));
    CHECK_EQ(size_of(merged), size_of(inter) + remote_size_of(inter));
    CHECK_EQ(rank_in(merged), rank_in(inter) + (high ? remote_size_of(inter) : 0));
    use_within(merged);
    MPI_Comm half = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_split(merged, rank_in(merged) % 2, 0, &half));
    use_within(half);
    MPI_Comm node = MPI_COMM_NULL;
    CHECK_OK(MPI_Comm_split_type(merged, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    use_within(node);
    share_memory(node);
    CHECK_OK(MPI_Comm_disconnect(&node));
    CHECK_OK(MPI_Comm_disconnect(&half));
    CHECK_OK(MPI_Comm_disconnect(&merged));
  }
}

}  // namespace family
