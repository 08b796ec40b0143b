#include "layout/host/engine.hpp"

#include <algorithm>
#include <cstring>

#include "layout/host/cursor.hpp"
#include "layout/host/moves.hpp"
#include "layout/host/window.hpp"

namespace hr::layout::host {
namespace {

// Patterns of few blocks are moved block by block over this many patterns, so that each inner loop moves segments of
// one length; the chunk stays in the first-level cache.
constexpr Count kChunk = 128;
constexpr std::size_t kFewBlocks = 8;
// Moving block by block pays only if a pattern's segments are short; each long segment is one memcpy anyway.
constexpr Count kShortPattern = 512;

// Copies between typed and packed memory in the direction given by kPack.
template <bool kPack>
struct Direction {
  using Packed = std::conditional_t<kPack, std::byte*, const std::byte*>;

  static void run(std::byte* typed, Packed packed, std::size_t length) {
    if constexpr (kPack) {
      std::memcpy(packed, typed, length);
    } else {
      std::memcpy(typed, packed, length);
    }
  }
  static void plane(const RunMoves& moves, Count length, std::byte* typed, Packed packed, Count n1, Count n0,
                    Count stride1, Count stride0, Count packed1, Count packed0) {
    if constexpr (kPack) {
      moves.plane(static_cast<std::size_t>(length), packed, typed, {n1, n0, packed1, packed0, stride1, stride0});
    } else {
      moves.plane(static_cast<std::size_t>(length), typed, packed, {n1, n0, stride1, stride0, packed1, packed0});
    }
  }
  static void list(const RunMoves& moves, Count length, std::byte* origin, Packed packed, const std::int32_t* offsets,
                   std::size_t n) {
    if constexpr (kPack) {
      moves.pack_list(static_cast<std::size_t>(length), packed, origin, offsets, n);
    } else {
      moves.unpack_list(static_cast<std::size_t>(length), origin, packed, offsets, n);
    }
  }
  static void windows(std::byte* origin, Packed packed, Count n, const Window& window) {
    if constexpr (kPack) {
      moves().pack_windows(packed, origin, n, window);
    } else {
      moves().unpack_windows(origin, packed, n, window);
    }
  }
  static void blocks(std::byte* origin, Packed packed, const Block* blocks, std::size_t n) {
    if constexpr (kPack) {
      moves().pack_blocks(packed, origin, blocks, n);
    } else {
      moves().unpack_blocks(origin, packed, blocks, n);
    }
  }
};

template <bool kPack>
class Mover {
  using To = Direction<kPack>;
  using Packed = typename To::Packed;

 public:
  Mover(const Shape& shape, const std::byte* base) : shape_(shape), base_(base) {}

  // Moves everything if that takes no search or division, as in short messages; else returns false.
  bool move_whole(std::size_t offset, std::size_t bytes, Packed packed) {
    if (offset != 0 || bytes != static_cast<std::size_t>(shape_.total) || shape_.ndims > 2) return false;
    const int ndims = shape_.ndims;
    const Dim inner = ndims > 0 ? shape_.dims[ndims - 1] : Dim{1, 0};
    const Dim outer = ndims > 1 ? shape_.dims[0] : Dim{1, 0};
    if (shape_.form == Form::kStrided) [[likely]] {
      To::plane(*shape_.layout->moves, shape_.run, at(base_, shape_.offset), packed, outer.count, inner.count,
                outer.stride, inner.stride, inner.count * shape_.run, shape_.run);
      return true;
    }
    if (shape_.form != Form::kBlocks) return false;
    for (Count i = 0; i < outer.count; ++i) {
      block_row(i * outer.stride, inner.stride, inner.count, packed + i * inner.count * shape_.pattern);
    }
    return true;
  }

  [[gnu::noinline]] void move(std::size_t offset, std::size_t bytes, Packed packed) {
    if (bytes == 0) return;
    if (shape_.form == Form::kContiguous) {
      To::run(at(base_, shape_.offset + static_cast<Count>(offset)), packed, bytes);
      return;
    }
    const auto pattern = static_cast<std::size_t>(shape_.pattern);
    Cursor cursor(shape_, static_cast<Count>(offset / pattern));
    if (const std::size_t inside = offset % pattern; inside != 0) {
      const std::size_t length = std::min(bytes, pattern - inside);
      partial(cursor.offset(), inside, length, packed);
      cursor.advance(1);
      packed += length;
      bytes -= length;
    }
    const auto whole = static_cast<Count>(bytes / pattern);
    packed = patterns(cursor, whole, packed);
    if (const std::size_t rest = bytes % pattern; rest != 0) partial(cursor.offset(), 0, rest, packed);
  }

 private:
  // Moves `count` whole patterns starting at the cursor.
  Packed patterns(Cursor& cursor, Count count, Packed packed) {
    const Count stride0 = shape_.ndims > 0 ? shape_.dims[shape_.ndims - 1].stride : 0;
    const Count stride1 = shape_.ndims > 1 ? shape_.dims[shape_.ndims - 2].stride : 0;
    const Count row = shape_.ndims > 0 ? shape_.dims[shape_.ndims - 1].count : 1;
    while (count > 0) {
      const Count rows = std::min(cursor.rows_left(), count / row);
      const Count n1 = rows > 0 ? rows : 1;
      const Count n0 = rows > 0 ? row : std::min(cursor.row_left(), count);
      if (shape_.form == Form::kStrided) {
        To::plane(*shape_.layout->moves, shape_.run, at(base_, cursor.offset() + shape_.offset), packed, n1, n0,
                  stride1, stride0, n0 * shape_.run, shape_.run);
      } else {
        for (Count i = 0; i < n1; ++i) {
          block_row(cursor.offset() + i * stride1, stride0, n0, packed + i * n0 * shape_.pattern);
        }
      }
      packed += n1 * n0 * shape_.pattern;
      count -= n1 * n0;
      if (rows > 0) {
        cursor.advance_rows(rows);
      } else {
        cursor.advance(n0);
      }
    }
    return packed;
  }

  // Moves `n` patterns of blocks, `stride` apart.
  [[gnu::noinline]] void block_row(Count origin, Count stride, Count n, Packed packed) {
    const Layout& layout = *shape_.layout;
    const std::size_t blocks = layout.blocks.size();
    if (layout.window != nullptr && (n == 1 || stride == layout.window->stride)) {
      To::windows(at(base_, origin), packed, n, *layout.window);
      return;
    }
    if (n >= 4 && blocks <= kFewBlocks && shape_.pattern <= kShortPattern) {
      for (Count done = 0; done < n; done += kChunk) {
        const Count some = std::min(kChunk, n - done);
        for (std::size_t i = 0; i < blocks; ++i) {
          const Block& block = layout.blocks[i];
          To::plane(moves().of(block.length), block.length, at(base_, origin + done * stride + block.offset),
                    packed + done * shape_.pattern + layout.prefix[i], 1, some, 0, stride, 0, shape_.pattern);
        }
      }
      return;
    }
    const std::size_t units = layout.piece != 0 ? layout.offsets.size() : blocks;
    for (Count i = 0; i < n; ++i) list(origin + i * stride, 0, units, packed + i * shape_.pattern);
  }

  // Moves complete pieces [first, last) of one pattern, or blocks if the layout has no pieces.
  void list(Count origin, std::size_t first, std::size_t last, Packed packed) {
    const Layout& layout = *shape_.layout;
    if (layout.piece != 0) {
      To::list(*layout.moves, layout.piece, at(base_, origin), packed, layout.offsets.data() + first, last - first);
    } else {
      To::blocks(at(base_, origin), packed, layout.blocks.data() + first, last - first);
    }
  }

  // packed_start(), offset_of(): start of piece or block `unit` in the pattern, packed and in memory. unit_at(): the
  // piece or block that contains a packed byte.
  [[nodiscard]] std::size_t packed_start(std::size_t unit) const {
    const Layout& layout = *shape_.layout;
    return layout.piece != 0 ? unit * static_cast<std::size_t>(layout.piece)
                             : static_cast<std::size_t>(layout.prefix[unit]);
  }
  [[nodiscard]] Count offset_of(std::size_t unit) const {
    const Layout& layout = *shape_.layout;
    return layout.piece != 0 ? layout.offsets[unit] : layout.blocks[unit].offset;
  }
  [[nodiscard]] std::size_t unit_at(std::size_t position) const {
    const Layout& layout = *shape_.layout;
    if (layout.piece != 0) return position / static_cast<std::size_t>(layout.piece);
    const auto& prefix = layout.prefix;
    return static_cast<std::size_t>(std::upper_bound(prefix.begin(), prefix.end(), static_cast<Count>(position)) -
                                    prefix.begin() - 1);
  }

  // Moves `length` bytes of one pattern, starting at its byte `inside`.
  void partial(Count origin, std::size_t inside, std::size_t length, Packed packed) {
    if (shape_.form == Form::kStrided) {
      To::run(at(base_, origin + shape_.offset + static_cast<Count>(inside)), packed, length);
      return;
    }
    const std::size_t first = unit_at(inside);
    const std::size_t end = inside + length;
    const std::size_t last =
        unit_at(end);  // the unit with the first byte not moved; one past the last unit at the pattern's end
    const auto address = [&](std::size_t unit, std::size_t skip) {
      return at(base_, origin + offset_of(unit) + static_cast<Count>(skip));
    };
    std::size_t whole = first;
    if (const std::size_t skip = inside - packed_start(first); skip != 0 || first == last) {
      const std::size_t stop = std::min(end, packed_start(first + 1));
      if (stop > inside) To::run(address(first, skip), packed, stop - inside);
      packed += stop - inside;
      whole = first + 1;
      if (first == last) return;
    }
    list(origin, whole, last, packed);
    packed += packed_start(last) - packed_start(whole);
    if (end > packed_start(last)) To::run(address(last, 0), packed, end - packed_start(last));
  }

  const Shape& shape_;
  const std::byte* base_;
};

// Copies all of a shape if both sides have segments of equal length in dims of equal counts: loops over both without
// packing in between. Otherwise returns false.
bool copy_alike(const Shape& a, const std::byte* from, const Shape& b, std::byte* to, std::size_t bytes) {
  if (a.form != Form::kStrided || b.form != Form::kStrided || a.run != b.run || a.ndims != b.ndims) return false;
  if (bytes != static_cast<std::size_t>(a.total) || a.total != b.total) return false;
  for (int i = 0; i < a.ndims; ++i) {
    if (a.dims[i].count != b.dims[i].count) return false;
  }
  const int inner = a.ndims - 1;
  Plane plane{1, a.dims[inner].count, 0, b.dims[inner].stride, 0, a.dims[inner].stride};
  if (inner > 0) {
    plane.n1 = a.dims[inner - 1].count;
    plane.to_stride1 = b.dims[inner - 1].stride;
    plane.from_stride1 = a.dims[inner - 1].stride;
  }
  const Count planes = a.total / a.run / (plane.n1 * plane.n0);
  Cursor source(a, 0);
  Cursor target(b, 0);
  for (Count i = 0; i < planes; ++i) {
    a.layout->moves->plane(static_cast<std::size_t>(a.run), at(to, target.offset() + b.offset),
                           at(from, source.offset() + a.offset), plane);
    if (inner > 0) {
      source.advance_rows(plane.n1);
      target.advance_rows(plane.n1);
    }
  }
  return true;
}

}  // namespace

void pack(const Shape& shape, const std::byte* base, std::size_t offset, std::size_t bytes, std::byte* to) {
  Mover<true> mover(shape, base);
  if (!mover.move_whole(offset, bytes, to)) mover.move(offset, bytes, to);
}

void unpack(const Shape& shape, std::byte* base, std::size_t offset, std::size_t bytes, const std::byte* from) {
  Mover<false> mover(shape, base);
  if (!mover.move_whole(offset, bytes, from)) mover.move(offset, bytes, from);
}

void copy(const Shape& from_shape, const std::byte* from, const Shape& to_shape, std::byte* to, std::size_t bytes) {
  if (bytes == 0) return;
  if (to_shape.form == Form::kContiguous) return pack(from_shape, from, 0, bytes, at(to, to_shape.offset));
  if (from_shape.form == Form::kContiguous) return unpack(to_shape, to, 0, bytes, at(from, from_shape.offset));
  if (copy_alike(from_shape, from, to_shape, to, bytes)) return;
  // Data passes through the first-level cache, because two specialised loops per piece are faster than one that follows
  // two shapes segment by segment.
  alignas(64) std::byte piece[8192];
  for (std::size_t done = 0; done < bytes; done += sizeof piece) {
    const std::size_t length = std::min(sizeof piece, bytes - done);
    pack(from_shape, from, done, length, piece);
    unpack(to_shape, to, done, length, piece);
  }
}

}  // namespace hr::layout::host
