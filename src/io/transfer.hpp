// Transfer: data between memory and the bytes of a file that a view names, by this process alone.
//
// Segments of the file that lie close together are read at once into a buffer, gaps included, if that takes less time
// than a call for each ("data sieving", hint romio_ds_read); writes go segment by segment, since the bytes of a gap are
// not ours. Other memory than contiguous host memory goes through a buffer.
//
// *done: bytes of the view's data that were moved, from the position on, also with an error; fewer than wanted without
// one: the file ended. Threads: any, if the memory is the host's; the layouts and the descriptor are not changed
// meanwhile.
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

// Do the same for contiguous host memory.
Status write_contiguous(const Place& place, const std::byte* from, std::size_t bytes, std::size_t* done);
Status read_contiguous(const Place& place, std::byte* to, std::size_t bytes, std::size_t* done);

using layout::bytes_view;  // of the library's own memory
// Returns a part of the packed form of a contiguous view.
[[nodiscard]] layout::View part_of(const layout::View& view, std::size_t offset, std::size_t bytes);

}  // namespace hr::io
