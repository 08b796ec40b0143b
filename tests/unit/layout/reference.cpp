#include "reference.hpp"

#include <algorithm>
#include <cstring>

#include "base/abi.hpp"

namespace hr::layout::test {

Count Reference::size() const {
  Count size = 0;
  for (const Entry& entry : entries) size += entry.type->size;
  return size;
}

Count Reference::true_lb() const {
  if (entries.empty()) return 0;
  return std::min_element(entries.begin(), entries.end(),
                          [](const Entry& a, const Entry& b) { return a.displacement < b.displacement; })
      ->displacement;
}

Count Reference::true_ub() const {
  Count ub = true_lb();
  for (const Entry& entry : entries) ub = std::max(ub, entry.displacement + entry.type->size);
  return ub;
}

Count Reference::lb() const {
  return lb_markers.empty() ? true_lb() : *std::min_element(lb_markers.begin(), lb_markers.end());
}

Count Reference::ub() const {
  if (!ub_markers.empty()) return *std::max_element(ub_markers.begin(), ub_markers.end());
  Count alignment = 1;
  for (const Entry& entry : entries) alignment = std::max<Count>(alignment, entry.type->alignment);
  Count ub = true_ub();
  for (const Count end : ends) ub = std::max(ub, end);
  while ((ub - true_lb()) % alignment != 0) ++ub;
  return ub;
}

Reach reach(const std::vector<Entry>& entries) {
  Reach all;
  for (const Entry& entry : entries) {
    all.low = std::min(all.low, entry.displacement);
    all.high = std::max(all.high, entry.displacement + entry.type->size);
  }
  return all;
}

std::vector<Entry> Reference::elements(Count count) const {
  std::vector<Entry> all;
  const Count apart = extent();
  for (Count i = 0; i < count; ++i) {
    for (const Entry& entry : entries) all.push_back({entry.type, entry.displacement + i * apart});
  }
  return all;
}

bool Reference::disjoint(Count count) const {
  std::vector<Entry> all = elements(count);
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.displacement < b.displacement; });
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i - 1].displacement + all[i - 1].type->size > all[i].displacement) return false;
  }
  return true;
}

Reference basic_reference(const Datatype& type) {
  const BasicType& row = *type.row_;
  if (row.value_abi == 0) return {{{&row, 0}}, {}, {}};
  const BasicType* value = basic_type(row.value_abi);
  const BasicType* index = basic_type(row.index_abi);
  const Count at = value->size < index->alignment ? index->alignment : value->size;
  return {{{value, 0}, {index, at}}, {}, {}};
}

Reference struct_reference(const std::vector<Count>& blocks, const std::vector<Count>& displacements,
                           const std::vector<Reference>& types) {
  Reference result;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Count extent = types[i].extent();
    for (Count j = 0; j < blocks[i]; ++j) {
      const Count shift = displacements[i] + j * extent;
      if (!types[i].entries.empty()) result.ends.push_back(shift + types[i].ub());
      for (const Entry& entry : types[i].entries) result.entries.push_back({entry.type, entry.displacement + shift});
      for (const Count marker : types[i].lb_markers) result.lb_markers.push_back(marker + shift);
      for (const Count marker : types[i].ub_markers) result.ub_markers.push_back(marker + shift);
    }
  }
  return result;
}

Reference resized_reference(const Reference& old, Count lb, Count extent) {
  Reference result = old;
  result.lb_markers = {lb};
  result.ub_markers = {lb + extent};
  return result;
}

namespace {

// Visits the array's indices in its storage order and keeps those for which `owns` is true.
template <class Owns>
Reference array_reference(const std::vector<Count>& sizes, int order, const Reference& old, Owns&& owns) {
  const std::size_t ndims = sizes.size();
  std::vector<std::size_t> fastest_first(ndims);
  for (std::size_t i = 0; i < ndims; ++i) fastest_first[i] = order == abi::kOrderC ? ndims - 1 - i : i;
  Count total = 1;
  for (const Count size : sizes) total *= size;
  std::vector<Count> blocks, displacements;
  std::vector<Reference> types;
  std::vector<Count> index(ndims);
  for (Count linear = 0; linear < total; ++linear) {
    Count left = linear;
    for (const std::size_t dim : fastest_first) {
      index[dim] = left % sizes[dim];
      left /= sizes[dim];
    }
    if (!owns(index)) continue;
    blocks.push_back(1);
    displacements.push_back(linear * old.extent());
    types.push_back(old);
  }
  return resized_reference(struct_reference(blocks, displacements, types), 0, total * old.extent());
}

}  // namespace

Reference subarray_reference(const std::vector<Count>& sizes, const std::vector<Count>& subsizes,
                             const std::vector<Count>& starts, int order, const Reference& old) {
  return array_reference(sizes, order, old, [&](const std::vector<Count>& index) {
    for (std::size_t dim = 0; dim < index.size(); ++dim) {
      if (index[dim] < starts[dim] || index[dim] >= starts[dim] + subsizes[dim]) return false;
    }
    return true;
  });
}

Reference darray_reference(int rank, const std::vector<Count>& gsizes, const std::vector<int>& distribs,
                           const std::vector<int>& dargs, const std::vector<int>& psizes, int order,
                           const Reference& old) {
  std::vector<int> coordinates(gsizes.size());
  for (std::size_t dim = gsizes.size(); dim-- > 0;) {
    coordinates[dim] = rank % psizes[dim];
    rank /= psizes[dim];
  }
  return array_reference(gsizes, order, old, [&](const std::vector<Count>& index) {
    for (std::size_t dim = 0; dim < index.size(); ++dim) {
      if (distribs[dim] == abi::kDistributeNone) continue;
      Count block = dargs[dim];
      if (dargs[dim] == abi::kDistributeDfltDarg) {
        block = distribs[dim] == abi::kDistributeBlock ? (gsizes[dim] + psizes[dim] - 1) / psizes[dim] : 1;
      }
      if (index[dim] / block % psizes[dim] != coordinates[dim]) return false;
    }
    return true;
  });
}

std::vector<std::byte> reference_pack(const std::vector<Entry>& entries, const std::byte* origin) {
  std::vector<std::byte> packed;
  for (const Entry& entry : entries) {
    packed.insert(packed.end(), origin + entry.displacement, origin + entry.displacement + entry.type->size);
  }
  return packed;
}

void reference_unpack(const std::vector<Entry>& entries, std::byte* origin, const std::vector<std::byte>& packed) {
  std::size_t next = 0;
  for (const Entry& entry : entries) {
    std::memcpy(origin + entry.displacement, packed.data() + next, entry.type->size);
    next += entry.type->size;
  }
}

}  // namespace hr::layout::test
