#include "layout/constructors.hpp"

#include <utility>
#include <vector>

#include "base/abi.hpp"
#include "layout/constructor_record.hpp"

namespace hr::layout {
namespace {

// *bytes: stride * extent.
Status scale(Count stride, Count extent, Count* bytes) {
  if (__builtin_mul_overflow(stride, extent, bytes)) {
    return fail(Errc::kCount, "a stride or displacement of %lld elements of %lld bytes does not fit 63 bits",
                static_cast<long long>(stride), static_cast<long long>(extent));
  }
  return kOk;
}

// Returns block lengths in the form that a typemap uses: a single value if all are equal.
std::vector<Count> repeats_of(CountArray blocks, Count count) {
  bool equal = true;
  for (Count i = 1; i < count && equal; ++i) equal = blocks[static_cast<std::size_t>(i)] == blocks[0];
  std::vector<Count> repeats;
  const Count n = equal && count > 0 ? 1 : count;
  repeats.reserve(static_cast<std::size_t>(n));
  for (Count i = 0; i < n; ++i) repeats.push_back(blocks[static_cast<std::size_t>(i)]);
  return repeats;
}

Status displacements_of(CountArray values, Count count, Count unit, std::vector<Count>* displacements) {
  displacements->resize(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < displacements->size(); ++i) HR_TRY(scale(values[i], unit, &(*displacements)[i]));
  return kOk;
}

// Creates the typemap for all four indexed constructors. `unit`: unit of the displacements, in bytes.
Status indexed_map(Count count, std::vector<Count> repeats, CountArray values, Count unit, const Datatype& old,
                   TypemapRef* map) {
  std::vector<Count> displacements;
  HR_TRY(displacements_of(values, count, unit, &displacements));
  return sequence_typemap({old.typemap_ref()}, std::move(repeats), std::move(displacements), map);
}

}  // namespace

Status make_contiguous(Count count, Datatype& old, CallForm form, Ref<Datatype>* type) {
  TypemapRef map;
  HR_TRY(repeat_typemap(old.typemap_ref(), count, old.extent(), &map));
  return Record(abi::kCombinerContiguous, form).count(count).type(old).finish(std::move(map), type);
}

Status make_vector(Count count, Count block, Count stride, Datatype& old, CallForm form, Ref<Datatype>* type) {
  Count bytes = 0;
  HR_TRY(scale(stride, old.extent(), &bytes));
  TypemapRef map;
  HR_TRY(vector_typemap(old.typemap_ref(), count, block, bytes, &map));
  return Record(abi::kCombinerVector, form)
      .count(count)
      .count(block)
      .count(stride)
      .type(old)
      .finish(std::move(map), type);
}

Status make_hvector(Count count, Count block, Count stride, Datatype& old, CallForm form, Ref<Datatype>* type) {
  TypemapRef map;
  HR_TRY(vector_typemap(old.typemap_ref(), count, block, stride, &map));
  return Record(abi::kCombinerHvector, form)
      .count(count)
      .count(block)
      .address(stride)
      .type(old)
      .finish(std::move(map), type);
}

Status make_indexed(Count count, CountArray blocks, CountArray displacements, Datatype& old, CallForm form,
                    Ref<Datatype>* type) {
  TypemapRef map;
  HR_TRY(indexed_map(count, repeats_of(blocks, count), displacements, old.extent(), old, &map));
  return Record(abi::kCombinerIndexed, form)
      .count(count)
      .counts(blocks, count)
      .counts(displacements, count)
      .type(old)
      .finish(std::move(map), type);
}

Status make_hindexed(Count count, CountArray blocks, CountArray displacements, Datatype& old, CallForm form,
                     Ref<Datatype>* type) {
  TypemapRef map;
  HR_TRY(indexed_map(count, repeats_of(blocks, count), displacements, 1, old, &map));
  return Record(abi::kCombinerHindexed, form)
      .count(count)
      .counts(blocks, count)
      .addresses(displacements, count)
      .type(old)
      .finish(std::move(map), type);
}

Status make_indexed_block(Count count, Count block, CountArray displacements, Datatype& old, CallForm form,
                          Ref<Datatype>* type) {
  TypemapRef map;
  HR_TRY(indexed_map(count, {block}, displacements, old.extent(), old, &map));
  return Record(abi::kCombinerIndexedBlock, form)
      .count(count)
      .count(block)
      .counts(displacements, count)
      .type(old)
      .finish(std::move(map), type);
}

Status make_hindexed_block(Count count, Count block, CountArray displacements, Datatype& old, CallForm form,
                           Ref<Datatype>* type) {
  TypemapRef map;
  HR_TRY(indexed_map(count, {block}, displacements, 1, old, &map));
  return Record(abi::kCombinerHindexedBlock, form)
      .count(count)
      .count(block)
      .addresses(displacements, count)
      .type(old)
      .finish(std::move(map), type);
}

Status make_struct(Count count, CountArray blocks, CountArray displacements, std::span<Datatype* const> types,
                   CallForm form, Ref<Datatype>* type) {
  bool same = true;
  for (Datatype* one : types) same &= one == types[0];
  std::vector<TypemapRef> children;
  for (std::size_t i = 0; i < (same && !types.empty() ? 1 : types.size()); ++i) {
    children.push_back(types[i]->typemap_ref());
  }
  std::vector<Count> bytes;
  HR_TRY(displacements_of(displacements, count, 1, &bytes));
  TypemapRef map;
  HR_TRY(sequence_typemap(std::move(children), repeats_of(blocks, count), std::move(bytes), &map));
  Record record(abi::kCombinerStruct, form);
  record.count(count).counts(blocks, count).addresses(displacements, count);
  for (Datatype* one : types) record.type(*one);
  return record.finish(std::move(map), type);
}

Status make_resized(Datatype& old, Count lb, Count extent, CallForm form, Ref<Datatype>* type) {
  TypemapRef map;
  HR_TRY(resized_typemap(old.typemap_ref(), lb, extent, &map));
  return Record(abi::kCombinerResized, form).address(lb).address(extent).type(old).finish(std::move(map), type);
}

Status make_dup(Datatype& old, Ref<Datatype>* type) {
  HR_TRY(Record(abi::kCombinerDup, CallForm::kPlain).type(old).finish(old.typemap_ref(), type));
  if (old.committed()) {
    (*type)->layout_ = old.layout_;
    (*type)->is_contiguous_ = old.is_contiguous_;
    (*type)->committed_ = true;
  }
  return kOk;
}

}  // namespace hr::layout
