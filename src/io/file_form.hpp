// File form: the form of a datatype in a file whose data representation has different widths from memory (MPI 5.0
// sections 14.5.2 and 14.5.3).
//
// The file form is constructed like the datatype, but from contiguous bytes instead of the predefined types. Arguments
// that count extents then count extents in the file; displacements in bytes stay as given, because the program computes
// them with MPI_File_get_type_extent.
#pragma once

#include "base/object.hpp"
#include "base/status.hpp"
#include "io/datarep.hpp"
#include "layout/datatype.hpp"

namespace hr::io {

// *form: receives the file form, committed; the type itself if the file has the representation of memory. Errors: those
// of the datatype constructors, and that of the program's extent function (MPI_Register_datarep); MPI_ERR_CONVERSION if
// a predefined type has no size in the representation.
Status file_form(layout::Datatype& type, const Representation& representation, Ref<layout::Datatype>* form);

}  // namespace hr::io
