#include "layout/canonical_build.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "layout/host/moves.hpp"
#include "layout/host/window.hpp"

namespace hr::layout {
namespace {

// A layout under construction: dims (outermost first, any number) around a pattern of blocks.
struct Draft {
  std::vector<Dim> dims;
  std::vector<Block> blocks;

  [[nodiscard]] bool empty() const { return blocks.empty(); }
  [[nodiscard]] Count runs() const {
    Count product = static_cast<Count>(blocks.size());
    for (const Dim& dim : dims) {
      if (__builtin_mul_overflow(product, dim.count, &product)) return kMaxBlocks + 1;
    }
    return product;
  }
  void shift(Count distance) {
    for (Block& block : blocks) block.offset += distance;
  }
};

Status too_many_runs() {
  return fail(Errc::kNoMem,
              "the datatype has more than %lld separate runs of bytes in no regular pattern; build it from "
              "fewer, larger or regularly spaced blocks",
              static_cast<long long>(kMaxBlocks));
}

// Appends a segment, or merges it with the previous one if they are adjacent.
void append(std::vector<Block>& blocks, Block block) {
  if (!blocks.empty() && blocks.back().offset + blocks.back().length == block.offset) {
    blocks.back().length += block.length;
  } else {
    blocks.push_back(block);
  }
}

// Lists every segment of the draft, displaced, in typemap order.
void flatten(const Draft& draft, std::size_t dim, Count displacement, std::vector<Block>& out) {
  if (dim == draft.dims.size()) {
    for (const Block& block : draft.blocks) append(out, {block.offset + displacement, block.length});
    return;
  }
  for (Count i = 0; i < draft.dims[dim].count; ++i) {
    flatten(draft, dim + 1, displacement + i * draft.dims[dim].stride, out);
  }
}

// Repeats the draft `count` times, `stride` apart.
void repeat(Draft& draft, Count count, Count stride) {
  if (draft.empty() || count == 1) return;
  if (draft.dims.empty() && draft.blocks.size() == 1 && draft.blocks[0].length == stride) {
    draft.blocks[0].length *= count;
    return;
  }
  if (!draft.dims.empty() && draft.dims[0].stride * draft.dims[0].count == stride) {
    draft.dims[0].count *= count;
    return;
  }
  draft.dims.insert(draft.dims.begin(), Dim{count, stride});
}

// Peels off a dimension if the offsets form groups of equal size with one constant stride; otherwise returns false.
// Afterwards, `offsets` holds the first offset of each group.
bool peel(std::vector<Count>& offsets, Dim* dim) {
  const std::size_t total = offsets.size();
  if (total < 2) return false;
  const Count stride = offsets[1] - offsets[0];
  std::size_t inner = 2;
  while (inner < total && offsets[inner] - offsets[inner - 1] == stride) ++inner;
  if (total % inner != 0) return false;
  for (std::size_t group = 0; group < total; group += inner) {
    for (std::size_t i = 1; i < inner; ++i) {
      if (offsets[group + i] - offsets[group + i - 1] != stride) return false;
    }
  }
  for (std::size_t group = 0; group < total / inner; ++group) offsets[group] = offsets[group * inner];
  offsets.resize(total / inner);
  *dim = Dim{static_cast<Count>(inner), stride};
  return true;
}

// Finds the dims of a list of displacements, outermost first; false if the list is not regular throughout.
bool find_strides(std::vector<Count> offsets, std::vector<Dim>* dims) {
  dims->clear();
  Dim dim;
  while (offsets.size() > 1) {
    if (!peel(offsets, &dim)) return false;
    dims->insert(dims->begin(), dim);
    if (dims->size() > kMaxLayoutDims) return false;
  }
  return true;
}

// Replaces the list by dims if it turns out to be strided: blocks of equal length at regular offsets.
void regularise(Draft& draft) {
  if (!draft.dims.empty() || draft.blocks.size() < 2) return;
  std::vector<Count> offsets;
  offsets.reserve(draft.blocks.size());
  for (const Block& block : draft.blocks) {
    if (block.length != draft.blocks[0].length) return;
    offsets.push_back(block.offset);
  }
  std::vector<Dim> dims;
  if (find_strides(std::move(offsets), &dims)) {
    draft.dims = std::move(dims);
    draft.blocks.resize(1);
  }
}

Status draft_of(const Typemap& map, Draft* draft);

Status draft_sequence(const Typemap& map, Draft* draft) {
  const std::size_t parts = map.displacements.size();
  if (map.children.size() == 1) {
    Draft one;
    HR_TRY(draft_of(map.child(0), &one));
    const Count extent = map.child(0).extent();
    // Equal parts at regular displacements need dims but no list.
    if (map.repeats.size() == 1 && parts > 0) {
      std::vector<Dim> dims;
      if (find_strides(map.displacements, &dims)) {
        repeat(one, map.repeats[0], extent);
        for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) repeat(one, dim->count, dim->stride);
        one.shift(map.displacements[0]);
        *draft = std::move(one);
        return kOk;
      }
    }
    for (std::size_t part = 0; part < parts; ++part) {
      if (map.repeat(part) <= 0) continue;
      if (one.dims.empty() && one.blocks.size() == 1 && one.blocks[0].length == extent) {
        append(draft->blocks, {map.displacements[part] + one.blocks[0].offset, map.repeat(part) * extent});
        continue;
      }
      Draft copies = one;
      repeat(copies, map.repeat(part), extent);
      if (copies.runs() + static_cast<Count>(draft->blocks.size()) > kMaxBlocks) return too_many_runs();
      flatten(copies, 0, map.displacements[part], draft->blocks);
    }
    regularise(*draft);
    return kOk;
  }
  bool first = true;
  for (std::size_t part = 0; part < parts; ++part) {
    Draft piece;
    if (map.repeat(part) <= 0) continue;
    HR_TRY(draft_of(map.child(part), &piece));
    if (piece.empty()) continue;
    repeat(piece, map.repeat(part), map.child(part).extent());
    piece.shift(map.displacements[part]);
    if (first) {  // a single part keeps its dims
      *draft = std::move(piece);
      first = false;
      continue;
    }
    if (!draft->dims.empty()) {
      if (draft->runs() > kMaxBlocks) return too_many_runs();
      Draft flat;
      flatten(*draft, 0, 0, flat.blocks);
      *draft = std::move(flat);
    }
    if (piece.runs() + static_cast<Count>(draft->blocks.size()) > kMaxBlocks) return too_many_runs();
    flatten(piece, 0, 0, draft->blocks);
  }
  regularise(*draft);
  return kOk;
}

Status draft_of(const Typemap& map, Draft* draft) {
  switch (map.kind) {
    case Typemap::Kind::kEmpty:
      return kOk;
    case Typemap::Kind::kLeaf:
      draft->blocks.push_back({0, map.size});
      return kOk;
    case Typemap::Kind::kRepeat:
      if (map.leaves == 0) return kOk;
      HR_TRY(draft_of(*map.children[0], draft));
      repeat(*draft, map.count, map.stride);
      return kOk;
    case Typemap::Kind::kSequence:
      return map.leaves == 0 ? kOk : draft_sequence(map, draft);
  }
  return kOk;
}

// Converts the innermost dims into blocks if there are too many dims for the engines.
Status limit_dims(Draft* draft) {
  while (draft->dims.size() > kMaxLayoutDims) {
    Draft inner;
    inner.dims.push_back(draft->dims.back());
    inner.blocks = std::move(draft->blocks);
    if (inner.runs() > kMaxBlocks) return too_many_runs();
    draft->blocks.clear();
    draft->dims.pop_back();
    flatten(inner, 0, 0, draft->blocks);
  }
  return kOk;
}

std::uint64_t bits_of(Count value) { return static_cast<std::uint64_t>(value); }

// Sets Layout::piece and offsets; the layout's blocks must be set.
void find_pieces(Layout& layout) {
  Count piece = layout.blocks[0].length;
  for (const Block& block : layout.blocks) piece = std::min(piece, block.length);
  const auto blocks = static_cast<Count>(layout.blocks.size());
  // Short pieces cost a fraction of what blocks of any length cost, so they pay off even for a sorted selection in
  // which half of the elements are adjacent to another element.
  const Count most = piece >= 4 && piece <= 16 ? 3 * blocks : blocks + blocks / 4;
  if (layout.pattern / piece > most) return;
  std::vector<std::int32_t> offsets;
  offsets.reserve(static_cast<std::size_t>(layout.pattern / piece));
  for (const Block& block : layout.blocks) {
    if (block.length % piece != 0) return;
    for (Count done = 0; done < block.length; done += piece) {
      if (!std::in_range<std::int32_t>(block.offset + done)) return;
      offsets.push_back(static_cast<std::int32_t>(block.offset + done));
    }
  }
  layout.piece = piece;
  layout.offsets = std::move(offsets);
}

// Sets Layout::window.
void find_window(Layout& layout) {
  if (host::moves().pack_windows == nullptr) return;
  host::Window window;
  const Count stride = layout.ndims > 0 ? layout.dims[layout.ndims - 1].stride : layout.extent;
  if (host::make_window(layout.blocks, stride, &window)) layout.window = std::make_shared<const host::Window>(window);
}

}  // namespace

Status build_layout(const Typemap& map, std::shared_ptr<const Layout>* out) {
  Draft draft;
  HR_TRY(draft_of(map, &draft));
  HR_TRY(limit_dims(&draft));
  auto layout = std::make_shared<Layout>();
  layout->size = map.size;
  layout->extent = map.extent();
  layout->runs = draft.runs();
  layout->ndims = static_cast<int>(draft.dims.size());
  std::copy(draft.dims.begin(), draft.dims.end(), layout->dims);
  draft.blocks.shrink_to_fit();
  layout->blocks = std::move(draft.blocks);

  std::uint64_t bits = 16;  // OR of everything that limits the unit, which is the lowest set bit
  for (int i = 0; i < layout->ndims; ++i) bits |= bits_of(layout->dims[i].stride);
  bool equal = true;
  for (const Block& block : layout->blocks) {
    bits |= bits_of(block.offset) | bits_of(block.length);
    layout->pattern += block.length;
    equal &= block.length == layout->blocks[0].length;
  }
  layout->unit = static_cast<std::uint8_t>(bits & -bits);
  if (layout->blocks.empty()) {
    layout->form = Form::kEmpty;
  } else if (layout->blocks.size() > 1) {
    layout->form = Form::kBlocks;
    layout->uniform = equal ? layout->blocks[0].length : 0;
    find_pieces(*layout);
    find_window(*layout);
    if (layout->piece != 0) layout->moves = &host::moves().of(layout->piece);
    layout->prefix.reserve(layout->blocks.size() + 1);
    Count packed = 0;
    for (const Block& block : layout->blocks) {
      layout->prefix.push_back(packed);
      packed += block.length;
    }
    layout->prefix.push_back(packed);
  } else {
    layout->form = layout->ndims == 0 ? Form::kContiguous : Form::kStrided;
    layout->moves = &host::moves().of(layout->blocks[0].length);
  }
  layout->one = shape_of(*layout, 1);
  *out = std::move(layout);
  return kOk;
}

Shape shape_of(const Layout& layout, Count count) noexcept {
  Shape shape;
  shape.layout = &layout;
  if (layout.form == Form::kEmpty || count <= 0) return shape;
  shape.form = layout.form;
  shape.unit = layout.unit;
  shape.pattern = layout.pattern;
  shape.total = layout.size * count;
  const bool one_block = layout.form != Form::kBlocks;
  if (one_block) {
    shape.offset = layout.blocks[0].offset;
    shape.run = layout.blocks[0].length;
  }
  int first = 0;
  if (count > 1) {
    std::uint64_t bits = shape.unit | bits_of(layout.extent);
    shape.unit = static_cast<std::uint8_t>(bits & -bits);
    if (layout.ndims == 0 && one_block && layout.extent == shape.run) {
      shape.run = shape.pattern = shape.total;
    } else if (layout.ndims > 0 && layout.dims[0].stride * layout.dims[0].count == layout.extent) {
      shape.dims[0] = {layout.dims[0].count * count, layout.dims[0].stride};
      shape.ndims = first = 1;
    } else {
      shape.dims[0] = {count, layout.extent};
      shape.ndims = 1;
    }
  }
  for (int i = first; i < layout.ndims; ++i) shape.dims[shape.ndims++] = layout.dims[i];
  if (one_block) shape.form = shape.ndims == 0 ? Form::kContiguous : Form::kStrided;
  return shape;
}

}  // namespace hr::layout
