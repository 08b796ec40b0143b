#include "rma/describe.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <type_traits>

#include "base/abi.hpp"
#include "layout/op.hpp"

namespace hr::rma {

using layout::BasicType;
using layout::Datatype;
using layout::Typemap;
using layout::TypemapRef;

namespace {

class Writer {
 public:
  template <class Value>
  void put(const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void put(const std::vector<Count>& values) {
    put(values.size());
    for (const Count value : values) put(value);
  }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class Value>
  [[nodiscard]] bool get(Value* value) {
    if (bytes_.size() < sizeof *value) return false;
    std::memcpy(value, bytes_.data(), sizeof *value);
    bytes_ = bytes_.subspan(sizeof *value);
    return true;
  }
  [[nodiscard]] bool get(std::vector<Count>* values) {
    std::size_t length = 0;
    if (!get(&length) || length > bytes_.size() / sizeof(Count)) return false;
    values->resize(length);
    for (Count& value : *values) {
      if (!get(&value)) return false;
    }
    return true;
  }

 private:
  std::span<const std::byte> bytes_;
};

// Fields of a typemap node, without its children.
struct Node {
  Typemap::Kind kind;
  std::uint8_t marked;    // 0 or 1
  std::uint16_t uniform;  // handle; 0: none
  std::uint32_t alignment;
  Count size, leaves, lb, ub, true_lb, true_ub, count, stride;
};
static_assert(sizeof(Node) == 8 * sizeof(Count) + 8);  // no padding: equal types have equal bytes

void write(const Typemap& map, Writer& to) {
  const auto uniform = static_cast<std::uint16_t>(map.uniform == nullptr ? 0 : map.uniform->abi);
  const Node node{map.kind,    std::uint8_t{map.marked},
                  uniform,     map.alignment,
                  map.size,    map.leaves,
                  map.lb,      map.ub,
                  map.true_lb, map.true_ub,
                  map.count,   map.stride};
  to.put(node);
  to.put(map.displacements);
  to.put(map.repeats);
  to.put(map.children.size());
  for (const TypemapRef& child : map.children) write(*child, to);
}

// Maximum nesting depth of types, because read() recurses for each level; programs use far less.
constexpr int kMostDepth = 1000;

// True if the fields of a node are those that its constructor computes from its children. Checked because the fields
// determine where the target's memory is written. Only the bounds may differ (MPI_Type_create_resized).
bool holds_together(const Typemap& map) {
  const auto is_negative = [](Count value) { return value < 0; };
  TypemapRef made;
  switch (map.kind) {
    case Typemap::Kind::kEmpty:
      if (std::ranges::any_of(map.children, [](const TypemapRef& child) { return child->leaves != 0; })) return false;
      return map.size == 0 && map.leaves == 0 && map.true_lb == 0 && map.true_ub == 0;
    case Typemap::Kind::kLeaf:
      if (map.uniform == nullptr || !map.children.empty()) return false;
      made = layout::leaf_typemap(*map.uniform);
      if (made->kind != Typemap::Kind::kLeaf) return false;  // a pair
      break;
    case Typemap::Kind::kRepeat:
      if (map.children.size() != 1 || map.count < 0) return false;
      if (!layout::repeat_typemap(map.children.front(), map.count, map.stride, &made).ok()) return false;
      break;
    case Typemap::Kind::kSequence: {
      const std::size_t parts = map.displacements.size();
      const auto serves = [parts](std::size_t number) { return number == 1 || number == parts; };
      if (parts == 0 || !serves(map.children.size()) || !serves(map.repeats.size())) return false;
      if (std::ranges::any_of(map.repeats, is_negative)) return false;
      if (!layout::sequence_typemap(map.children, map.repeats, map.displacements, &made).ok()) return false;
      break;
    }
    default:
      return false;
  }
  Count extent = 0;
  return made->size == map.size && made->leaves == map.leaves && made->true_lb == map.true_lb &&
         made->true_ub == map.true_ub && made->uniform == map.uniform &&
         !__builtin_sub_overflow(map.ub, map.lb, &extent);
}

bool read(Reader& from, int depth, TypemapRef* out) {
  Node node;
  auto map = std::make_shared<Typemap>();
  std::size_t children = 0;
  if (depth > kMostDepth) return false;
  if (!from.get(&node) || !from.get(&map->displacements) || !from.get(&map->repeats) || !from.get(&children))
    return false;
  if (node.marked > 1) return false;
  map->kind = node.kind;
  map->marked = node.marked != 0;
  map->alignment = node.alignment;
  map->uniform = node.uniform == 0 ? nullptr : layout::basic_type(node.uniform);
  map->size = node.size;
  map->leaves = node.leaves;
  map->lb = node.lb;
  map->ub = node.ub;
  map->true_lb = node.true_lb;
  map->true_ub = node.true_ub;
  map->count = node.count;
  map->stride = node.stride;
  for (std::size_t i = 0; i < children; ++i) {
    TypemapRef child;
    if (!read(from, depth + 1, &child)) return false;
    map->children.push_back(std::move(child));
  }
  if (!holds_together(*map)) {
    static_cast<void>(take_detail());  // set by a constructor
    return false;
  }
  *out = std::move(map);
  return true;
}

Status make(std::span<const std::byte> description, Ref<Datatype>* type) {
  Reader reader(description);
  std::uint32_t element = 0;
  TypemapRef map;
  if (!reader.get(&element) || !read(reader, 0, &map)) {
    return fail(Errc::kIntern,
                "the description of a target's datatype (%zu bytes) cannot be read: do all processes run "
                "the same version of the library?",
                description.size());
  }
  // element_of() requires that the elements fill all bytes.
  Datatype* const base = element == 0 ? nullptr : layout::predefined_type(element);
  if (base != nullptr && (base->size() == 0 || map->size % base->size() != 0))
    return fail(Errc::kIntern, "the elements of a target's datatype are no %s", base->name().c_str());
  Ref<Datatype> made = Ref<Datatype>::adopt(Arena<Datatype>::instance().create());
  if (!made) return fail(Errc::kNoMem, "no memory for another datatype: free those no longer needed");
  made->set_typemap(std::move(map));
  if (base != nullptr) {
    made->contents_.combiner = abi::kCombinerDup;
    made->contents_.types.push_back(Ref<Datatype>::share(base));
  }
  HR_TRY(made->commit());
  *type = std::move(made);
  return kOk;
}

}  // namespace

std::uint32_t handle_of(const Datatype& type) noexcept {
  return type.is_predefined() ? static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(type.handle())) : 0;
}

Datatype* element_of(Datatype& type) noexcept {
  if (type.row_ != nullptr) return layout::predefined_type(type.row_->abi);
  Datatype* found = nullptr;
  for (const Ref<Datatype>& part : type.contents_.types) {
    if (part->size() == 0) continue;
    Datatype* const its = element_of(*part);
    if (its == nullptr || (found != nullptr && its != found)) return nullptr;
    found = its;
  }
  return found;
}

std::vector<std::byte> describe(const Datatype& type) {
  Writer writer;
  const Datatype* const element = element_of(const_cast<Datatype&>(type));
  writer.put(element == nullptr ? std::uint32_t{0} : handle_of(*element));
  write(type.typemap(), writer);
  return writer.take();
}

Status MadeTypes::find(std::span<const std::byte> description, Ref<Datatype>* type) {
  const std::string_view key(reinterpret_cast<const char*>(description.data()), description.size());
  if (const auto found = by_description_.find(key); found != by_description_.end()) {
    made_.splice(made_.begin(), made_, found->second);
    *type = found->second->type;
    return kOk;
  }
  HR_TRY(make(description, type));
  made_.push_front({std::string(key), *type});
  by_description_.emplace(made_.front().description, made_.begin());
  if (made_.size() > kMost) {
    by_description_.erase(made_.back().description);
    made_.pop_back();
  }
  return kOk;
}

}  // namespace hr::rma
