// Datatypes: constructors, decoding, bounds, names (MPI 5.0 chapter 5 and sections 7.8, 19.1.9).
#include <algorithm>
#include <cstring>
#include <memory>

#include "base/attributes.hpp"
#include "bind/handles.hpp"
#include "bind/impl.hpp"
#include "layout/constructors.hpp"

namespace hr::bind::impl {
namespace {

using layout::CallForm;
using layout::Contents;
using layout::Datatype;

CallForm form_of(bool large) { return large ? CallForm::kLarge : CallForm::kPlain; }

// Fails if the plain form decodes a type made by a _c constructor that has counts: the plain form has no argument for
// them (section 5.1.13).
Status check_form(const Contents& contents, bool large) {
  if (large || contents.counts.empty()) return kOk;
  return fail(Errc::kType, "the datatype was made by a large-count constructor; decode it with the _c form");
}

Status check_room(const char* what, Count room, std::size_t needed) {
  if (static_cast<std::size_t>(std::max<Count>(room, 0)) >= needed) return kOk;
  return fail(Errc::kArg, "%s is %lld; the datatype's contents need %zu (MPI_Type_get_envelope tells)", what,
              static_cast<long long>(room), needed);
}

}  // namespace

Status type_contiguous(Count count, Datatype& oldtype, Ref<Datatype>& newtype, bool large) {
  return layout::make_contiguous(count, oldtype, form_of(large), &newtype);
}

Status type_vector(Count count, Count blocklength, Count stride, Datatype& oldtype, Ref<Datatype>& newtype,
                   bool large) {
  return layout::make_vector(count, blocklength, stride, oldtype, form_of(large), &newtype);
}

Status type_create_hvector(Count count, Count blocklength, Count stride, Datatype& oldtype, Ref<Datatype>& newtype,
                           bool large) {
  return layout::make_hvector(count, blocklength, stride, oldtype, form_of(large), &newtype);
}

Status type_indexed(Count count, CountArray array_of_blocklengths, CountArray array_of_displacements, Datatype& oldtype,
                    Ref<Datatype>& newtype, bool large) {
  return layout::make_indexed(count, array_of_blocklengths, array_of_displacements, oldtype, form_of(large), &newtype);
}

Status type_create_hindexed(Count count, CountArray array_of_blocklengths, CountArray array_of_displacements,
                            Datatype& oldtype, Ref<Datatype>& newtype, bool large) {
  return layout::make_hindexed(count, array_of_blocklengths, array_of_displacements, oldtype, form_of(large), &newtype);
}

Status type_create_indexed_block(Count count, Count blocklength, CountArray array_of_displacements, Datatype& oldtype,
                                 Ref<Datatype>& newtype, bool large) {
  return layout::make_indexed_block(count, blocklength, array_of_displacements, oldtype, form_of(large), &newtype);
}

Status type_create_hindexed_block(Count count, Count blocklength, CountArray array_of_displacements, Datatype& oldtype,
                                  Ref<Datatype>& newtype, bool large) {
  return layout::make_hindexed_block(count, blocklength, array_of_displacements, oldtype, form_of(large), &newtype);
}

Status type_create_struct(Count count, CountArray array_of_blocklengths, CountArray array_of_displacements,
                          std::span<Datatype* const> array_of_types, Ref<Datatype>& newtype, bool large) {
  return layout::make_struct(count, array_of_blocklengths, array_of_displacements, array_of_types, form_of(large),
                             &newtype);
}

Status type_create_subarray(int ndims, CountArray array_of_sizes, CountArray array_of_subsizes,
                            CountArray array_of_starts, int order, Datatype& oldtype, Ref<Datatype>& newtype,
                            bool large) {
  return layout::make_subarray(ndims, array_of_sizes, array_of_subsizes, array_of_starts, order, oldtype,
                               form_of(large), &newtype);
}

Status type_create_darray(int size, int rank, int ndims, CountArray array_of_gsizes, const int* array_of_distribs,
                          const int* array_of_dargs, const int* array_of_psizes, int order, Datatype& oldtype,
                          Ref<Datatype>& newtype, bool large) {
  return layout::make_darray(size, rank, ndims, array_of_gsizes, array_of_distribs, array_of_dargs, array_of_psizes,
                             order, oldtype, form_of(large), &newtype);
}

Status type_create_resized(Datatype& oldtype, Count lb, Count extent, Ref<Datatype>& newtype, bool large) {
  return layout::make_resized(oldtype, lb, extent, form_of(large), &newtype);
}

Status type_dup(Datatype& oldtype, Ref<Datatype>& newtype) {
  Ref<Datatype> copy;
  HR_TRY(layout::make_dup(oldtype, &copy));
  if (oldtype.attributes_ != nullptr && !oldtype.attributes_->empty()) {
    copy->attributes_ = std::make_unique<AttributeSet>();
    HR_TRY(oldtype.attributes_->copy_to(oldtype.handle(), copy->attributes_.get(), copy->handle()));
  }
  newtype = std::move(copy);
  return kOk;
}

Status type_commit(Datatype& datatype) { return datatype.commit(); }

Status type_free(Datatype& datatype) {
  if (datatype.row_ != nullptr) {
    return fail(Errc::kType, "%s is predefined and cannot be freed",
                datatype.name().empty() ? "a type of MPI_Type_create_f90_*" : datatype.name().c_str());
  }
  if (datatype.attributes_ != nullptr) HR_TRY(datatype.attributes_->clear(datatype.handle()));
  release(&datatype);
  return kOk;
}

Status type_get_envelope(Datatype& datatype, Count& num_integers, Count& num_addresses, Count& num_large_counts,
                         Count& num_datatypes, int& combiner, bool large) {
  const Contents& contents = datatype.contents();
  HR_TRY(check_form(contents, large));
  num_integers = static_cast<Count>(contents.integers.size());
  num_addresses = static_cast<Count>(contents.addresses.size());
  num_large_counts = static_cast<Count>(contents.counts.size());
  num_datatypes = static_cast<Count>(contents.types.size());
  combiner = contents.combiner;
  return kOk;
}

Status type_get_contents(Datatype& datatype, Count max_integers, Count max_addresses, Count max_large_counts,
                         Count max_datatypes, int* array_of_integers, MPI_Aint* array_of_addresses,
                         MPI_Count* array_of_large_counts, MPI_Datatype* array_of_datatypes, bool large) {
  const Contents& contents = datatype.contents();
  if (contents.combiner == MPI_COMBINER_NAMED) {
    return fail(Errc::kType, "%s is a predefined datatype and has no contents", datatype.name().c_str());
  }
  HR_TRY(check_form(contents, large));
  HR_TRY(check_room("max_integers", max_integers, contents.integers.size()));
  HR_TRY(check_room("max_addresses", max_addresses, contents.addresses.size()));
  HR_TRY(check_room("max_large_counts", large ? max_large_counts : 0, contents.counts.size()));
  HR_TRY(check_room("max_datatypes", max_datatypes, contents.types.size()));
  std::copy(contents.integers.begin(), contents.integers.end(), array_of_integers);
  std::copy(contents.addresses.begin(), contents.addresses.end(), array_of_addresses);
  std::copy(contents.counts.begin(), contents.counts.end(), array_of_large_counts);
  for (std::size_t i = 0; i < contents.types.size(); ++i) {
    // A derived type is returned with a reference, which the program frees.
    if (contents.types[i]->row_ == nullptr) contents.types[i]->retain();
    array_of_datatypes[i] = handle_of(contents.types[i].get());
  }
  return kOk;
}

Status type_size(Datatype& datatype, Count& size) {
  size = datatype.size();
  return kOk;
}

Status type_size_x(Datatype& datatype, Count& size) { return type_size(datatype, size); }

Status type_get_extent(Datatype& datatype, Count& lb, Count& extent) {
  lb = datatype.lb();
  extent = datatype.extent();
  return kOk;
}

Status type_get_extent_x(Datatype& datatype, Count& lb, Count& extent) { return type_get_extent(datatype, lb, extent); }

Status type_get_true_extent(Datatype& datatype, Count& true_lb, Count& true_extent) {
  true_lb = datatype.true_lb();
  true_extent = datatype.true_extent();
  return kOk;
}

Status type_get_true_extent_x(Datatype& datatype, Count& true_lb, Count& true_extent) {
  return type_get_true_extent(datatype, true_lb, true_extent);
}

Status type_get_name(Datatype* datatype, char* type_name, int& resultlen) {
  const char* name = datatype == nullptr ? "MPI_DATATYPE_NULL" : datatype->name().c_str();
  resultlen = static_cast<int>(std::strlen(name));
  std::memcpy(type_name, name, static_cast<std::size_t>(resultlen) + 1);
  return kOk;
}

Status type_set_name(Datatype& datatype, const char* type_name) {
  datatype.name_.assign(type_name, ::strnlen(type_name, MPI_MAX_OBJECT_NAME - 1));
  return kOk;
}

Status type_create_f90_real(int p, int r, Ref<Datatype>& newtype) { return layout::f90_real(p, r, &newtype); }
Status type_create_f90_complex(int p, int r, Ref<Datatype>& newtype) { return layout::f90_complex(p, r, &newtype); }
Status type_create_f90_integer(int r, Ref<Datatype>& newtype) { return layout::f90_integer(r, &newtype); }

Status type_match_size(int typeclass, int size, Ref<Datatype>& datatype) {
  return layout::match_size(typeclass, size, &datatype);
}

Status type_get_value_index(Datatype& value_type, Datatype& index_type, Ref<Datatype>& pair_type) {
  return layout::value_index(value_type, index_type, &pair_type);
}

}  // namespace hr::bind::impl
