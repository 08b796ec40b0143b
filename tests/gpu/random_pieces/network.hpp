// Network: the senders and receivers in a communicator, as one of its ranks knows them without querying the library.
//
// Every link has a key that is the same at both ends: the data sent over the link is drawn from the key. Owner of its
// communicator; must be destroyed before MPI_Finalize.
#pragma once

#include <mpi.h>

#include <string>
#include <vector>

#include "../../mpi/random/plan.hpp"

namespace random_pieces {

struct Link {
  int peer;  // MPI_PROC_NULL: none
  std::uint64_t key;
};

struct Network {
  MPI_Comm comm = MPI_COMM_NULL;
  std::string name;
  bool neighborhood = false;
  std::vector<Link> in, out;  // links in the order of the blocks
};

// All ranks with all, grids with and without borders, a graph, and random edges: some repeated, some to oneself.
class Networks {
 public:
  explicit Networks(std::uint64_t seed);
  ~Networks();
  Networks(const Networks&) = delete;
  Networks& operator=(const Networks&) = delete;

  std::vector<Network>& all() { return networks_; }

 private:
  void add_everybody();
  void add_grid(int dimensions, bool periodic);
  void add_graph(random_exchange::Generator& random);
  void add_edges(random_exchange::Generator& random);

  int rank_ = 0, size_ = 1;
  std::vector<Network> networks_;
};

}  // namespace random_pieces
