#include "comm/topology.hpp"

#include <climits>
#include <cstdint>

#include "base/abi.hpp"

namespace hr::comm {

int Topology::abi_kind() const noexcept {
  switch (kind_) {
    case Kind::kCartesian:
      return abi::kCart;
    case Kind::kGraph:
      return abi::kGraph;
    case Kind::kDistGraph:
      return abi::kDistGraph;
  }
  return abi::kUndefined;
}

Status Cartesian::rank_of(const int* coords, int* rank) const {
  std::int64_t result = 0;
  for (std::size_t i = 0; i < dims_.size(); ++i) {
    int coordinate = coords[i];
    if (coordinate < 0 || coordinate >= dims_[i]) {
      if (!periods_[i]) {
        return fail(Errc::kArg, "coordinate %d of dimension %zu is outside [0, %d), and the dimension is not periodic",
                    coordinate, i, dims_[i]);
      }
      coordinate %= dims_[i];
      if (coordinate < 0) coordinate += dims_[i];
    }
    result = result * dims_[i] + coordinate;
  }
  *rank = static_cast<int>(result);
  return kOk;
}

void Cartesian::coords_of(int rank, int* coords) const noexcept {
  for (std::size_t i = dims_.size(); i-- > 0;) {
    coords[i] = rank % dims_[i];
    rank /= dims_[i];
  }
}

int Cartesian::shifted(int rank, int direction, std::int64_t displacement) const noexcept {
  const auto axis = static_cast<std::size_t>(direction);
  std::int64_t stride = 1;
  for (std::size_t i = axis + 1; i < dims_.size(); ++i) stride *= dims_[i];
  const std::int64_t extent = dims_[axis];
  const std::int64_t coordinate = rank / stride % extent;
  std::int64_t target = coordinate + displacement;
  if (target < 0 || target >= extent) {
    if (!periods_[axis]) return abi::kProcNull;
    target = (target % extent + extent) % extent;
  }
  return static_cast<int>(rank + (target - coordinate) * stride);
}

Topology::Neighbors Cartesian::neighbors(int rank) const {
  Neighbors result;
  for (int direction = 0; direction < ndims(); ++direction) {
    result.sources.push_back(shifted(rank, direction, -1));
    result.sources.push_back(shifted(rank, direction, 1));
  }
  result.destinations = result.sources;
  return result;
}

std::unique_ptr<Topology> Cartesian::clone() const { return std::make_unique<Cartesian>(*this); }

std::span<const int> Graph::neighbors_of(int rank) const noexcept {
  const auto node = static_cast<std::size_t>(rank);
  const auto begin = static_cast<std::size_t>(rank == 0 ? 0 : index_[node - 1]);
  return std::span(edges_).subspan(begin, static_cast<std::size_t>(index_[node]) - begin);
}

Topology::Neighbors Graph::neighbors(int rank) const {
  const std::span<const int> own = neighbors_of(rank);
  Neighbors result;
  result.sources.assign(own.begin(), own.end());
  result.destinations = result.sources;
  return result;
}

std::unique_ptr<Topology> Graph::clone() const { return std::make_unique<Graph>(*this); }

Topology::Neighbors DistGraph::neighbors(int) const { return {in_.ranks, out_.ranks}; }

std::unique_ptr<Topology> DistGraph::clone() const { return std::make_unique<DistGraph>(*this); }

Status check_grid(std::span<const int> dims, int* nodes) {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] <= 0) return fail(Errc::kDims, "dimension %zu of the grid is %d: must be positive", i, dims[i]);
    product *= dims[i];
    if (product > INT_MAX) product = INT_MAX;
  }
  *nodes = static_cast<int>(product);
  return kOk;
}

Status check_graph(std::span<const int> index, const int* edges) {
  int previous = 0;
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] < previous) {
      return fail(Errc::kArg, "index[%zu] = %d is less than the entry before it (%d)", i, index[i], previous);
    }
    previous = index[i];
  }
  const auto nodes = static_cast<int>(index.size());
  for (int i = 0; i < previous; ++i) {
    if (edges[i] < 0 || edges[i] >= nodes) {
      return fail(Errc::kArg, "edges[%d] = %d is not one of the graph's %d nodes", i, edges[i], nodes);
    }
  }
  return kOk;
}

}  // namespace hr::comm
