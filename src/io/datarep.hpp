// Representations: formats of values in a file (MPI 5.0 section 14.5).
//
// "native" and "internal" are the format of values in memory; "external32" is in layout/external32.hpp; programs may
// register more. Data in a format other than that of memory is converted as a whole, in a host buffer, before it is
// written or after it has been read.
//
// Owner: the state of this layer, from registration to the end of MPI; registrations are permanent. Threads: library
// lock, also held while the program's functions run.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/count.hpp"
#include "base/status.hpp"
#include "layout/datatype.hpp"
#include "layout/view.hpp"

namespace hr::io {

struct Representation {
  // Converts `count` elements of the type between memory and the file's format, which is contiguous.
  using Convert = std::function<Status(void* memory, layout::Datatype& type, Count count, void* file, Count position)>;
  // Finds the extent of a predefined type in the file.
  using Extent = std::function<Status(layout::Datatype& type, Count* extent)>;

  std::string name;
  bool memorys = true;  // the format is that of memory, so values need no conversion
  bool external32 = false;
  Convert read, write;  // the program's functions; empty: no conversion, unless external32
  Extent extent;
};

[[nodiscard]] const Representation& native() noexcept;
// Returns the representation of that name; nullptr if there is none.
[[nodiscard]] const Representation* find_representation(const char* name);
// MPI_Register_datarep. Errors: MPI_ERR_DUP_DATAREP, MPI_ERR_ARG (a name that is too long or empty).
Status register_representation(Representation made);

// Finds the size of one element in the file, in bytes. Errors: those of the program's function.
Status file_size(const Representation& representation, layout::Datatype& type, Count* bytes);

// Convert all elements of a view to or from host memory that is large enough for them in the file's format.
Status encode(const Representation& representation, const layout::View& from, std::byte* to);
Status decode(const Representation& representation, const layout::View& to, const std::byte* from);

}  // namespace hr::io
