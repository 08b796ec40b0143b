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

Status write_vector(const Call& call, const View& vector) {
  const std::size_t bytes = typed_bytes(vector.count, *vector.type);
  FlagLines& lines = own_flag_lines(call);
  lines.head.bytes = bytes;
  return write_elements(vector, bytes, lines.data(bytes));
}

Status write_elements(const View& vector, std::size_t bytes, std::byte* data) {
  if (vector.is_contiguous_host() && bytes == vector.packed) [[likely]] {
    std::memcpy(data, vector.data(), bytes);
    return kOk;
  }
  return layout::copy(vector, typed_view(data, vector.count, *vector.type));
}

FlagLineVectors::FlagLineVectors(const Call& call, Count first, Count count) noexcept
    : call_(call),
      type_(*contribution(call).type),
      count_(count),
      origin_(typed_origin(contribution(call).count, type_) + first * type_.extent()),
      bytes_(typed_bytes(contribution(call).count, type_)),  // also in its flag line, but other cores hold that by now
      own_(call.in_place || call.send.none() ? nullptr : moved(call.send.all().address, first * type_.extent())) {}

Status FlagLineVectors::find(int rank, std::byte** origin) const {
  if (rank == call_.rank() && own_ != nullptr) {
    *origin = own_;
    return kOk;
  }
  FlagLines& lines = flag_lines_of(call_, rank);
  if (lines.head.bytes != bytes_) [[unlikely]]
    return wrong_length(call_, rank, lines.head.bytes, bytes_);
  *origin = moved(lines.data(bytes_), origin_);
  return kOk;
}

Status FlagLineVectors::copy(int rank, std::byte* to) const {
  std::byte* from = nullptr;
  HR_TRY(find(rank, &from));
  return copy_elements(from, to, count_, type_);
}

Status FlagLineVectors::combine_left(int rank, std::byte* right) const {
  std::byte* left = nullptr;
  HR_TRY(find(rank, &left));
  return layout::apply(*call_.op, left, right, count_, type_);
}

Status FlagLineVectors::combine_two(int left_rank, int right_rank, std::byte* to) const {
  std::byte* left = nullptr;
  std::byte* right = nullptr;
  HR_TRY(find(left_rank, &left));
  HR_TRY(find(right_rank, &right));
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
