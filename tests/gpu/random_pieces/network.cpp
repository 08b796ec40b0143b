#include "network.hpp"

#include <algorithm>
#include <map>

#include "common/check.hpp"

namespace random_pieces {

using random_exchange::chance;
using random_exchange::draw;
using random_exchange::Generator;

Networks::Networks(std::uint64_t seed) {
  CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  CHECK_OK(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  Generator random = random_exchange::generator(seed, 0, 60);
  add_everybody();
  add_grid(1, true);
  add_grid(2, false);
  add_grid(3, true);
  add_graph(random);
  add_edges(random);
}

Networks::~Networks() {
  for (Network& network : networks_) MPI_Comm_free(&network.comm);
}

void Networks::add_everybody() {
  Network made{MPI_COMM_NULL, "everybody", false, {}, {}};
  CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &made.comm));
  for (int peer = 0; peer < size_; ++peer) {
    made.out.push_back({peer, static_cast<std::uint64_t>(rank_ * size_ + peer)});
    made.in.push_back({peer, static_cast<std::uint64_t>(peer * size_ + rank_)});
  }
  networks_.push_back(std::move(made));
}

// A block sent in one direction arrives from the other.
void Networks::add_grid(int dimensions, bool periodic) {
  Network made{MPI_COMM_NULL, std::to_string(dimensions) + (periodic ? "D torus" : "D grid"), true, {}, {}};
  const auto count = static_cast<std::size_t>(dimensions);
  std::vector<int> sizes(count), periods(count, periodic ? 1 : 0);
  CHECK_OK(MPI_Dims_create(size_, dimensions, sizes.data()));
  CHECK_OK(MPI_Cart_create(MPI_COMM_WORLD, dimensions, sizes.data(), periods.data(), 0, &made.comm));
  for (int d = 0; d < dimensions; ++d) {
    int sides[2];
    CHECK_OK(MPI_Cart_shift(made.comm, d, 1, &sides[0], &sides[1]));
    for (int side = 0; side < 2; ++side) {
      const int peer = sides[side];
      const int slot = 2 * d + side;
      made.out.push_back({peer, static_cast<std::uint64_t>(rank_ * 16 + slot)});
      made.in.push_back({peer, static_cast<std::uint64_t>(peer * 16 + (slot ^ 1))});
    }
  }
  networks_.push_back(std::move(made));
}

void Networks::add_graph(Generator& random) {
  std::vector<std::vector<int>> neighbors(static_cast<std::size_t>(size_));
  for (int a = 0; a < size_; ++a) {
    for (int b = a; b < size_; ++b) {
      if (!chance(random, 60) && a + b != 0) continue;  // one edge at least
      neighbors[static_cast<std::size_t>(a)].push_back(b);
      if (a != b) neighbors[static_cast<std::size_t>(b)].push_back(a);
    }
  }
  std::vector<int> index, edges;
  for (const std::vector<int>& each : neighbors) {
    edges.insert(edges.end(), each.begin(), each.end());
    index.push_back(static_cast<int>(edges.size()));
  }
  Network made{MPI_COMM_NULL, "graph", true, {}, {}};
  CHECK_OK(MPI_Graph_create(MPI_COMM_WORLD, size_, index.data(), edges.data(), 0, &made.comm));
  for (const int peer : neighbors[static_cast<std::size_t>(rank_)]) {
    made.out.push_back({peer, static_cast<std::uint64_t>(rank_ * size_ + peer)});
    made.in.push_back({peer, static_cast<std::uint64_t>(peer * size_ + rank_)});
  }
  networks_.push_back(std::move(made));
}

// Each rank lists its edges in its own order; those between the same two ranks match in that order.
void Networks::add_edges(Generator& random) {
  Network made{MPI_COMM_NULL, "random edges", true, {}, {}};
  std::vector<int> sources, destinations;
  for (int i = draw(random, 1, 6 * size_); i > 0; --i) {
    const int from = draw(random, 0, size_ - 1), to = draw(random, 0, size_ - 1);
    if (to == rank_) sources.push_back(from);
    if (from == rank_) destinations.push_back(to);
  }
  Generator mine = random_exchange::generator(static_cast<std::uint64_t>(rank_), 0, 62);
  std::shuffle(sources.begin(), sources.end(), mine);
  std::shuffle(destinations.begin(), destinations.end(), mine);
  CHECK_OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(sources.size()), sources.data(),
                                          MPI_UNWEIGHTED, static_cast<int>(destinations.size()), destinations.data(),
                                          MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made.comm));
  const auto key = [&](int from, int to, int nth) {
    return static_cast<std::uint64_t>((from * size_ + to) * 64 + nth);
  };
  std::map<int, int> given, taken;
  for (const int peer : destinations) made.out.push_back({peer, key(rank_, peer, given[peer]++)});
  for (const int peer : sources) made.in.push_back({peer, key(peer, rank_, taken[peer]++)});
  networks_.push_back(std::move(made));
}

}  // namespace random_pieces
