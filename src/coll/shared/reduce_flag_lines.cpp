#include "coll/shared/reduce_flag_lines.hpp"

#include <bit>
#include <cstring>

namespace hr::coll::shared {

Status copy_elements(std::byte* from, std::byte* to, Count count, const layout::Datatype& type) {
  if (type.contiguous(count)) [[likely]] {
    const Count lowest = type.true_lb();
    std::memcpy(moved(to, lowest), moved(from, lowest), static_cast<std::size_t>(count * type.size()));
    return kOk;
  }
  const auto view_at = [&](std::byte* origin) {
    View view = typed_view(origin, count, type);
    view.address = origin;
    return view;
  };
  return layout::copy(view_at(from), view_at(to));
}

Status wrong_length(const Call& call, int rank, std::uint64_t bytes, std::size_t expected) {
  return fail(Errc::kTruncate, "%s: the vector of rank %d takes %llu bytes, this process's %zu", name(call.operation),
              rank, static_cast<unsigned long long>(bytes), expected);
}

Status write_vector(const View& vector, FlagLines& own) {
  const std::size_t bytes = typed_bytes(vector);
  own.head.bytes = bytes;
  return write_elements(vector, bytes, own.data(bytes));
}

Status write_elements(const View& vector, std::size_t bytes, std::byte* data) {
  if (vector.allows_memcpy() && bytes == vector.packed) [[likely]] {
    std::memcpy(data, vector.data(), bytes);
    return kOk;
  }
  return layout::copy(vector, typed_view(data, vector.count, *vector.type));
}

inline std::byte* FlagLineVectors::find(int rank) const {
  if (rank == call_.rank() && own_ != nullptr) return own_;
  FlagLines& lines = flag_lines_of(call_, rank);
  return lines.head.bytes == bytes_ ? moved(lines.data(bytes_), origin_) : nullptr;
}

Status FlagLineVectors::not_found(int rank) const {
  return wrong_length(call_, rank, flag_lines_of(call_, rank).head.bytes, bytes_);
}

Status FlagLineVectors::copy(int rank, std::byte* to) const {
  std::byte* const from = find(rank);
  return from != nullptr ? copy_elements(from, to, count_, type_) : not_found(rank);
}

Status FlagLineVectors::combine_left(int rank, std::byte* right) const {
  const std::byte* const left = find(rank);
  return left != nullptr ? layout::apply(*call_.op, left, right, count_, type_) : not_found(rank);
}

Status FlagLineVectors::combine_two(int left_rank, int right_rank, std::byte* to) const {
  const std::byte* const left = find(left_rank);
  const std::byte* const right = find(right_rank);
  if (left == nullptr || right == nullptr) [[unlikely]]
    return not_found(left == nullptr ? left_rank : right_rank);
  return layout::apply_to(*call_.op, left, right, to, count_, type_);
}

Status FlagLineVectors::subtree(const TreeOrder& order, int leaf, int leaves, std::byte* to) const {
  const auto rank_at = [&](int position) { return (position + order.top) % call_.size(); };
  if (leaves == 1) {
    if (leaf >= order.pairs) return copy(rank_at(leaf + order.pairs), to);
    return combine_two(rank_at(2 * leaf), rank_at(2 * leaf + 1), to);
  }
  const int half = static_cast<int>(std::bit_ceil(static_cast<unsigned>(leaves)) / 2);
  if (leaves == 2 && leaf >= order.pairs)
    return combine_two(rank_at(leaf + order.pairs), rank_at(leaf + 1 + order.pairs), to);
  HR_TRY(subtree(order, leaf + half, leaves - half, to));
  // The vector of a single rank is used in place.
  if (half == 1 && leaf >= order.pairs) return combine_left(rank_at(leaf + order.pairs), to);
  TypedScratch room(count_, type_);
  HR_TRY(subtree(order, leaf, half, room.view().address));
  return layout::apply(*call_.op, room.view().address, to, count_, type_);
}

}  // namespace hr::coll::shared
