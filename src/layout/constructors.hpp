// Datatype constructors (MPI 5.0 sections 5.1.2 to 5.1.4, 5.1.7, 5.1.10).
//
// Each returns one reference to a new, uncommitted type, which records the call for MPI_Type_get_contents.
// Only displacements, strides and bounds may be negative; the entry points have checked the other arguments. Errors:
// MPI_ERR_COUNT when size or bounds overflow, MPI_ERR_ARG for arguments that contradict each other, MPI_ERR_NO_MEM when
// no more types can be created. Threads: library lock.
#pragma once

#include <span>

#include "base/count.hpp"
#include "base/object.hpp"
#include "base/status.hpp"
#include "layout/datatype.hpp"

namespace hr::layout {

// Form of the constructor that was called. The result of MPI_Type_get_contents depends on it (section 5.1.13).
enum class CallForm : std::uint8_t { kPlain, kLarge };

Status make_contiguous(Count count, Datatype& old, CallForm form, Ref<Datatype>* type);
// The stride is in extents of `old`.
Status make_vector(Count count, Count block, Count stride, Datatype& old, CallForm form, Ref<Datatype>* type);
// The stride is in bytes.
Status make_hvector(Count count, Count block, Count stride, Datatype& old, CallForm form, Ref<Datatype>* type);
// The displacements are in extents of `old`.
Status make_indexed(Count count, CountArray blocks, CountArray displacements, Datatype& old, CallForm form,
                    Ref<Datatype>* type);
// The displacements are in bytes.
Status make_hindexed(Count count, CountArray blocks, CountArray displacements, Datatype& old, CallForm form,
                     Ref<Datatype>* type);
Status make_indexed_block(Count count, Count block, CountArray displacements, Datatype& old, CallForm form,
                          Ref<Datatype>* type);
Status make_hindexed_block(Count count, Count block, CountArray displacements, Datatype& old, CallForm form,
                           Ref<Datatype>* type);
Status make_struct(Count count, CountArray blocks, CountArray displacements, std::span<Datatype* const> types,
                   CallForm form, Ref<Datatype>* type);
Status make_subarray(int ndims, CountArray sizes, CountArray subsizes, CountArray starts, int order, Datatype& old,
                     CallForm form, Ref<Datatype>* type);
Status make_darray(int size, int rank, int ndims, CountArray gsizes, const int* distribs, const int* dargs,
                   const int* psizes, int order, Datatype& old, CallForm form, Ref<Datatype>* type);
Status make_resized(Datatype& old, Count lb, Count extent, CallForm form, Ref<Datatype>* type);
// The new type is committed if `old` is. The caller copies the attributes.
Status make_dup(Datatype& old, Ref<Datatype>* type);

// Create unnamed predefined types (section 19.1.9); equal arguments yield the same type, which programs cannot free.
// `precision` or `range` may be MPI_UNDEFINED, not both. Errors: MPI_ERR_ARG when there is no such type.
Status f90_real(int precision, int range, Ref<Datatype>* type);
Status f90_complex(int precision, int range, Ref<Datatype>* type);
Status f90_integer(int range, Ref<Datatype>* type);

// MPI_Type_match_size (section 19.1.9): finds the Fortran type of that class and size. Errors: MPI_ERR_ARG.
Status match_size(int type_class, int size, Ref<Datatype>* type);
// MPI_Type_get_value_index (section 6.9.4): returns an empty Ref if there is no such pair type.
Status value_index(const Datatype& value, const Datatype& index, Ref<Datatype>* type);

}  // namespace hr::layout
