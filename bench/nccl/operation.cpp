#include "nccl/operation.hpp"

namespace bench {
namespace {

constexpr int kTag = 5;

std::vector<Transfer> from_each_to_each(int ranks) {
  std::vector<Transfer> all;
  for (int from = 0; from < ranks; ++from) {
    for (int to = 0; to < ranks; ++to) all.push_back({from, to, to, from});
  }
  return all;
}

// Returns one of the two directions of each pair, chosen so that each rank has about as many destinations as sources.
std::vector<Transfer> one_way(int ranks) {
  std::vector<Transfer> some;
  for (const Transfer& each : from_each_to_each(ranks)) {
    const int distance = (each.to - each.from + ranks) % ranks;
    if (distance != 0 && (2 * distance < ranks || (2 * distance == ranks && each.from < each.to))) some.push_back(each);
  }
  return some;
}

std::vector<Transfer> both_ways(int ranks) {
  std::vector<Transfer> others = from_each_to_each(ranks);
  std::erase_if(others, [](const Transfer& each) { return each.from == each.to; });
  return others;
}

// Pairs rank r of the lower half with r + ranks / 2, as the pairwise benchmarks do.
std::vector<Transfer> halves(int ranks, bool both) {
  std::vector<Transfer> some;
  for (int lower = 0; lower < ranks / 2; ++lower) {
    some.push_back({lower, lower + ranks / 2, 0, 0});
    if (both) some.push_back({lower + ranks / 2, lower, 0, 0});
  }
  return some;
}

std::vector<Transfer> ring(int ranks) {
  std::vector<Transfer> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back({rank, (rank + 1) % ranks, 0, 0});
  return all;
}

std::vector<Transfer> to_root(int ranks) {
  std::vector<Transfer> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back({rank, kRoot, 0, rank});
  return all;
}

std::vector<Transfer> from_root(int ranks) {
  std::vector<Transfer> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back({kRoot, rank, rank, 0});
  return all;
}

std::vector<Transfer> from_neighbours(int ranks) {
  std::vector<Transfer> all;
  for (int rank = 0; rank < ranks; ++rank) {
    int block = 0;
    for (const int neighbour : grid_neighbours(rank, grid_of(ranks))) {
      all.push_back({neighbour, rank, block ^ 1, block});
      ++block;
    }
  }
  return all;
}

std::vector<Transfer> own_to_each(int ranks) {
  std::vector<Transfer> all = from_each_to_each(ranks);
  for (Transfer& each : all) each.from_block = 0;
  return all;
}

}  // namespace

std::vector<int> grid_of(int ranks) {
  int shorter = 1;
  for (int size = 1; size * size <= ranks; ++size) {
    if (ranks % size == 0) shorter = size;
  }
  return {ranks / shorter, shorter};
}

std::vector<Compared> compared(int ranks) {
  const auto collective = [](const char* name, int blocks, void (*nccl)(const Exchange&)) {
    return Compared{name, find_operation(name), blocks, {}, nccl};
  };
  const auto exchanged = [](const char* name, int blocks, std::vector<Transfer> transfers,
                            void (*nccl)(const Exchange&) = nullptr) {
    return Compared{name, find_operation(name), blocks, std::move(transfers), nccl};
  };
  return {
      collective("allreduce", 1, [](const Exchange& e) { e.nccl.allreduce(e.send, e.receive, e.count, e.stream); }),
      collective("bcast", 1, [](const Exchange& e) { e.nccl.bcast(e.receive, e.receive, e.count, kRoot, e.stream); }),
      collective("reduce", 1, [](const Exchange& e) { e.nccl.reduce(e.send, e.receive, e.count, kRoot, e.stream); }),
      collective("allgather", ranks, [](const Exchange& e) { e.nccl.allgather(e.send, e.receive, e.count, e.stream); }),
      collective("reduce_scatter_block", ranks,
                 [](const Exchange& e) { e.nccl.reduce_scatter(e.send, e.receive, e.count, e.stream); }),
      exchanged("alltoall", ranks, from_each_to_each(ranks),
                [](const Exchange& e) { e.nccl.alltoall(e.send, e.receive, e.count, e.stream); }),
      exchanged("gather", ranks, to_root(ranks),
                [](const Exchange& e) { e.nccl.gather(e.send, e.receive, e.count, kRoot, e.stream); }),
      exchanged("scatter", ranks, from_root(ranks),
                [](const Exchange& e) { e.nccl.scatter(e.send, e.receive, e.count, kRoot, e.stream); }),
      exchanged("ring", 1, ring(ranks)),
      exchanged("pairs_one_way", 1, halves(ranks, false)),
      exchanged("pairs_both_ways", 1, halves(ranks, true)),
      exchanged("all_pairs_one_way", ranks, one_way(ranks)),
      exchanged("all_pairs_both_ways", ranks, both_ways(ranks)),
      exchanged("allgatherv", ranks, own_to_each(ranks)),
      exchanged("alltoallv", ranks, from_each_to_each(ranks)),
      exchanged("gatherv", ranks, to_root(ranks)),
      exchanged("scatterv", ranks, from_root(ranks)),
      exchanged("neighbor_alltoall", 2 * kAxes, from_neighbours(ranks)),
      collective("scan", 1, nullptr),
  };
}

void by_nccl(const Compared& operation, const Exchange& exchange) {
  if (operation.nccl != nullptr && (operation.transfers.empty() || exchange.nccl.has_new_functions())) {
    operation.nccl(exchange);
    return;
  }
  const auto [place, nccl, stream, send, receive, count] = exchange;
  nccl.begin_group();
  for (const Transfer& each : operation.transfers) {
    const auto from = static_cast<std::size_t>(each.from_block), to = static_cast<std::size_t>(each.to_block);
    if (each.from == place.rank) nccl.send(send + from * count, count, each.to, stream);
    if (each.to == place.rank) nccl.receive(receive + to * count, count, each.from, stream);
  }
  nccl.end_group();
}

void by_messages(const Compared& operation, const Exchange& exchange) {
  const int rank = exchange.place.rank, count = static_cast<int>(exchange.count);
  const MPI_Comm comm = exchange.place.comm;
  const auto block = [&](float* buffer, int index) {
    return buffer + static_cast<std::size_t>(index) * exchange.count;
  };
  std::vector<const Transfer*> sent, received;
  for (const Transfer& each : operation.transfers) {
    if (each.to == rank) received.push_back(&each);
    if (each.from == rank) sent.push_back(&each);
  }
  if (sent.size() == 1 && received.size() == 1) {
    MPI_Sendrecv(block(exchange.send, sent[0]->from_block), count, MPI_FLOAT, sent[0]->to, kTag,
                 block(exchange.receive, received[0]->to_block), count, MPI_FLOAT, received[0]->from, kTag, comm,
                 MPI_STATUS_IGNORE);
    return;
  }
  std::vector<MPI_Request> requests;
  requests.reserve(sent.size() + received.size());
  for (const Transfer* each : received) {
    MPI_Irecv(block(exchange.receive, each->to_block), count, MPI_FLOAT, each->from, kTag, comm,
              &requests.emplace_back(MPI_REQUEST_NULL));
  }
  for (const Transfer* each : sent) {
    MPI_Isend(block(exchange.send, each->from_block), count, MPI_FLOAT, each->to, kTag, comm,
              &requests.emplace_back(MPI_REQUEST_NULL));
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace bench
