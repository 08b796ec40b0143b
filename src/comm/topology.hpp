// Topology: the neighbors of each process in a communicator (MPI 5.0 chapter 8). Pure arithmetic without communication.
//
// Owner: its communicator. Immutable. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.hpp"

namespace hr::comm {

class Topology {
 public:
  enum class Kind { kCartesian, kGraph, kDistGraph };
  virtual ~Topology() = default;
  [[nodiscard]] Kind kind() const noexcept { return kind_; }
  // Returns the value that MPI_Topo_test reports.
  [[nodiscard]] int abi_kind() const noexcept;

  // Processes from which a neighborhood collective of `rank` receives, and to which it sends, in the standard's order
  // (section 8.6). Cartesian: for each dimension, the neighbor at -1, then that at +1; MPI_PROC_NULL beyond a border
  // that is not periodic. A DistGraph knows only the calling process's neighbors and ignores `rank`.
  struct Neighbors {
    std::vector<int> sources;
    std::vector<int> destinations;
  };
  [[nodiscard]] virtual Neighbors neighbors(int rank) const = 0;
  [[nodiscard]] virtual std::unique_ptr<Topology> clone() const = 0;

 protected:
  explicit Topology(Kind kind) noexcept : kind_(kind) {}
  Topology(const Topology&) = default;
  Topology& operator=(const Topology&) = delete;

 private:
  Kind kind_;
};

// Row-major grid (section 8.2): the last dimension varies fastest.
class Cartesian final : public Topology {
 public:
  Cartesian(std::vector<int> dims, std::vector<bool> periods)
      : Topology(Kind::kCartesian), dims_(std::move(dims)), periods_(std::move(periods)) {}

  [[nodiscard]] int ndims() const noexcept { return static_cast<int>(dims_.size()); }
  [[nodiscard]] const std::vector<int>& dims() const noexcept { return dims_; }
  [[nodiscard]] const std::vector<bool>& periods() const noexcept { return periods_; }

  // Finds the rank at coordinates, which wrap around in periodic dimensions. Errors: MPI_ERR_ARG if they are out of
  // range in other dimensions.
  Status rank_of(const int* coords, int* rank) const;
  // Writes ndims() entries.
  void coords_of(int rank, int* coords) const noexcept;
  // MPI_Cart_shift: returns the rank at distance `displacement` along `direction`; MPI_PROC_NULL beyond a border.
  [[nodiscard]] int shifted(int rank, int direction, std::int64_t displacement) const noexcept;

  [[nodiscard]] Neighbors neighbors(int rank) const override;
  [[nodiscard]] std::unique_ptr<Topology> clone() const override;

 private:
  std::vector<int> dims_;
  std::vector<bool> periods_;
};

// A graph, the same on every process (section 8.5.3). index[i]: total number of neighbors of nodes 0 to i.
class Graph final : public Topology {
 public:
  Graph(std::vector<int> index, std::vector<int> edges)
      : Topology(Kind::kGraph), index_(std::move(index)), edges_(std::move(edges)) {}
  [[nodiscard]] const std::vector<int>& index() const noexcept { return index_; }
  [[nodiscard]] const std::vector<int>& edges() const noexcept { return edges_; }
  [[nodiscard]] std::span<const int> neighbors_of(int rank) const noexcept;

  [[nodiscard]] Neighbors neighbors(int rank) const override;
  [[nodiscard]] std::unique_ptr<Topology> clone() const override;

 private:
  std::vector<int> index_;
  std::vector<int> edges_;
};

// A graph in which each process knows only its own edges (section 8.5.4). Weights are empty unless weighted.
class DistGraph final : public Topology {
 public:
  struct Edges {
    std::vector<int> ranks;
    std::vector<int> weights;
  };
  DistGraph(Edges in, Edges out, bool weighted)
      : Topology(Kind::kDistGraph), in_(std::move(in)), out_(std::move(out)), weighted_(weighted) {}
  [[nodiscard]] const Edges& in() const noexcept { return in_; }
  [[nodiscard]] const Edges& out() const noexcept { return out_; }
  [[nodiscard]] bool weighted() const noexcept { return weighted_; }

  [[nodiscard]] Neighbors neighbors(int rank) const override;
  [[nodiscard]] std::unique_ptr<Topology> clone() const override;

 private:
  Edges in_;
  Edges out_;
  bool weighted_;
};

// MPI_Dims_create (section 8.5.2): fills the zero entries so that the product of all is `nodes`; the new entries are as
// close to each other as possible, in non-increasing order. Errors: MPI_ERR_DIMS (a negative entry, or `nodes` is not a
// multiple of the given entries).
Status dims_create(int nodes, std::span<int> dims);

// Checks the dimensions of a grid. *nodes: receives their product (saturated at INT_MAX). Errors: MPI_ERR_DIMS if a
// dimension is not positive.
Status check_grid(std::span<const int> dims, int* nodes);
// Checks a graph. Errors: MPI_ERR_ARG if `index` decreases, or if edges are outside [0, nodes).
Status check_graph(std::span<const int> index, const int* edges);

}  // namespace hr::comm
