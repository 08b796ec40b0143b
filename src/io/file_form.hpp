// File form: the form of a datatype in a file whose data representation has other widths than memory (MPI 5.0 sections
// 14.5.2 and 14.5.3).
//
// The same constructors, over contiguous bytes in place of the predefined types. Arguments counted in extents become
// the file's automatically; displacements in bytes are the program's, which asks MPI_File_get_type_extent for them.
#pragma once

#include "base/object.hpp"
#include "base/status.hpp"
#include "io/datarep.hpp"
#include "layout/datatype.hpp"

namespace hr::io {

// *form: committed; the type itself if the representation is memory's. Errors: those of constructors, and of the
// program's function.
Status file_form(layout::Datatype& type, const Representation& representation, Ref<layout::Datatype>* form);

}  // namespace hr::io
