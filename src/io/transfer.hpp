// Transfer: moves data between memory and the bytes of a file that a view selects, without involving other processes.
//
// Segments of the file that are close together are read at once into a buffer, including the gaps, if that takes less
// time than a call for each ("data sieving", hint romio_ds_read). Segments are written one at a time, because other
// processes may write the bytes in the gaps. Data in memory other than contiguous host memory passes through a buffer.
//
// *done: number of bytes of the view's data that were moved, from the position on, even if there is an error; if it is
// less than requested without an error, the file ended. Threads: any, if the memory is host memory; the layouts and the
// descriptor must not change meanwhile.
#pragma once

#include "io/file_view.hpp"
#include "io/hints.hpp"
#include "io/posix_file.hpp"
#include "layout/view.hpp"

namespace hr::io {

struct Place {
  const PosixFile* disk = nullptr;
  const FileView* view = nullptr;
  const Hints* hints = nullptr;
  Count position = 0;
};

Status write_view(const Place& place, const layout::View& from, std::size_t* done);
Status read_view(const Place& place, const layout::View& to, std::size_t* done);

// Move contiguous host memory; otherwise like the functions above.
Status write_contiguous(const Place& place, const std::byte* from, std::size_t bytes, std::size_t* done);
Status read_contiguous(const Place& place, std::byte* to, std::size_t bytes, std::size_t* done);

using layout::bytes_view;  // creates views of the library's own memory
// Returns a part of the packed form of a contiguous view.
[[nodiscard]] layout::View part_of(const layout::View& view, std::size_t offset, std::size_t bytes);

}  // namespace hr::io
