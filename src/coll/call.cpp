#include "coll/call.hpp"

#include <new>

#include "coll/view_tools.hpp"
#include "mem/independent.hpp"

namespace hr::coll {

const char* name(Operation operation) noexcept {
  switch (operation) {
    case Operation::kBarrier:
      return "barrier";
    case Operation::kBcast:
      return "bcast";
    case Operation::kGather:
      return "gather";
    case Operation::kGatherv:
      return "gatherv";
    case Operation::kScatter:
      return "scatter";
    case Operation::kScatterv:
      return "scatterv";
    case Operation::kAllgather:
      return "allgather";
    case Operation::kAllgatherv:
      return "allgatherv";
    case Operation::kAlltoall:
      return "alltoall";
    case Operation::kAlltoallv:
      return "alltoallv";
    case Operation::kAlltoallw:
      return "alltoallw";
    case Operation::kReduce:
      return "reduce";
    case Operation::kAllreduce:
      return "allreduce";
    case Operation::kReduceScatter:
      return "reduce_scatter";
    case Operation::kReduceScatterBlock:
      return "reduce_scatter_block";
    case Operation::kScan:
      return "scan";
    case Operation::kExscan:
      return "exscan";
    case Operation::kNeighborAllgather:
      return "neighbor_allgather";
    case Operation::kNeighborAllgatherv:
      return "neighbor_allgatherv";
    case Operation::kNeighborAlltoall:
      return "neighbor_alltoall";
    case Operation::kNeighborAlltoallv:
      return "neighbor_alltoallv";
    case Operation::kNeighborAlltoallw:
      return "neighbor_alltoallw";
  }
  return "collective";
}

std::optional<Operation> find_operation(std::string_view wanted) noexcept {
  for (int i = 0; i < kOperations; ++i) {
    const auto operation = static_cast<Operation>(i);
    if (wanted == name(operation)) return operation;
  }
  return std::nullopt;
}

Blocks Blocks::consecutive(const layout::View& all, CountArray counts) noexcept {
  Blocks blocks;
  blocks.shape_ = Shape::kConsecutive;
  blocks.all_ = all;
  blocks.counts_ = counts;
  blocks.type_ = const_cast<layout::Datatype*>(all.type);
  return blocks;
}

Blocks Blocks::counted(const void* address, CountArray counts, CountArray displacements,
                       layout::Datatype& type) noexcept {
  Blocks blocks;
  blocks.shape_ = Shape::kCounts;
  blocks.address_ = static_cast<std::byte*>(const_cast<void*>(address));
  blocks.counts_ = counts;
  blocks.displacements_ = displacements;
  blocks.type_ = &type;
  return blocks;
}

Blocks Blocks::counted_in(const layout::View& all, CountArray counts, CountArray displacements) noexcept {
  Blocks blocks = counted(all.address, counts, displacements, *const_cast<layout::Datatype*>(all.type));
  blocks.independent_ = all.where.independent;
  return blocks;
}

Blocks Blocks::typed(const void* address, CountArray counts, CountArray displacements,
                     layout::Datatype* const* types) noexcept {
  Blocks blocks;
  blocks.shape_ = Shape::kTypes;
  blocks.address_ = static_cast<std::byte*>(const_cast<void*>(address));
  blocks.counts_ = counts;
  blocks.displacements_ = displacements;
  blocks.types_ = types;
  return blocks;
}

void Blocks::set_arrays(const Count* counts, const Count* displacements, layout::Datatype* const* types) noexcept {
  counts_ = counts != nullptr ? CountArray(counts) : CountArray();
  displacements_ = displacements != nullptr ? CountArray(displacements) : CountArray();
  types_ = types;
}

// Constructs the view in place instead of copying it. The loads of a copy would be wider than the preceding stores, and
// would wait until these stores have reached the cache. The stores may be queued behind the store of a flag to a line
// that another core holds.
Status Blocks::block(int i, layout::View* view) const {
  const mem::IndependentScope scope(independent_);
  const auto index = static_cast<std::size_t>(i);
  switch (shape_) {
    case Shape::kUniform:
      new (view) layout::View(slice(all_, i * count_, count_));
      return kOk;
    case Shape::kConsecutive: {
      Count first = 0;
      for (std::size_t before = 0; before < index; ++before) first += counts_[before];
      new (view) layout::View(slice(all_, first, counts_[index]));
      return kOk;
    }
    case Shape::kCounts:
      return layout::make_view(moved(address_, displacements_[index] * type_->extent()), counts_[index], *type_, view);
    case Shape::kTypes:
      return layout::make_view(moved(address_, displacements_[index]), counts_[index], *types_[index], view);
    case Shape::kNone:
      break;
  }
  return fail(Errc::kIntern, "a collective requested a block that a buffer does not have");
}

}  // namespace hr::coll
