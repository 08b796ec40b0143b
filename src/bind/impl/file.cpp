// Files as a whole: opening, sizes, views, pointers, data representations (MPI 5.0 chapter 14).
#include <cstring>
#include <utility>

#include "bind/handles.hpp"
#include "bind/impl.hpp"
#include "bind/raise.hpp"
#include "comm/group.hpp"
#include "io/datarep.hpp"
#include "io/io.hpp"
#include "p2p/turns.hpp"

namespace hr::bind::impl {
namespace {

Status must_be_committed(const char* parameter, const layout::Datatype& type) {
  return type.committed() ? kOk : fail(Errc::kType, "%s is not committed; call MPI_Type_commit first", parameter);
}

// Returns the type with a new reference. If the type is derived, the program frees the reference.
Ref<layout::Datatype> lent(layout::Datatype& type) { return Ref<layout::Datatype>::share(&type); }

// Wraps the program's conversion function; `none` means no conversion.
template <class Function, class Number>
io::Representation::Convert converter(Function* function, Function* none, void* state) {
  if (function == none) return {};
  return [function, state](void* memory, layout::Datatype& type, Count count, void* file, Count position) {
    const int code = function(memory, handle_of(&type), static_cast<Number>(count), file, position, state);
    return Status::from_code(code);
  };
}

template <class Function, class Number>
Status add_datarep(const char* datarep, Function* read, Function* write, Function* none,
                   MPI_Datarep_extent_function* extent, void* state) {
  if (extent == nullptr) return fail(Errc::kArg, "dtype_file_extent_fn is null");
  io::Representation made;
  made.name = datarep;
  made.memorys = false;
  made.read = converter<Function, Number>(read, none, state);
  made.write = converter<Function, Number>(write, none, state);
  made.extent = [extent, state](layout::Datatype& type, Count* bytes) {
    MPI_Aint found = 0;
    const int code = extent(handle_of(&type), &found, state);
    *bytes = found;
    return Status::from_code(code);
  };
  return io::register_representation(std::move(made));
}

}  // namespace

Status file_open(comm::Communicator& comm, const char* filename, int amode, comm::Info* info, Ref<io::File>& fh) {
  HR_TRY(io::open(comm, filename, amode, info, &fh));
  fh->errhandler_ = file_errhandler();
  return kOk;
}

Status file_close(io::File& fh) {
  HR_TRY(io::close(fh));
  release(&fh);
  return kOk;
}

Status file_delete(const char* filename, comm::Info* /*info*/) { return io::remove(filename); }
Status file_set_size(io::File& fh, Count size) { return io::set_size(fh, size); }
Status file_preallocate(io::File& fh, Count size) { return io::preallocate(fh, size); }
Status file_get_size(io::File& fh, MPI_Offset& size) {
  p2p::take_turn();
  return io::get_size(fh, &size);
}
Status file_sync(io::File& fh) {
  p2p::take_turn();
  return io::sync(fh);
}
Status file_set_atomicity(io::File& fh, bool flag) { return io::set_atomicity(fh, flag); }

Status file_get_atomicity(io::File& fh, int& flag) {
  flag = fh.atomic_ ? 1 : 0;
  return kOk;
}

Status file_get_amode(io::File& fh, int& amode) {
  amode = fh.amode_;
  return kOk;
}

Status file_get_group(io::File& fh, Ref<comm::Group>& group) {
  group = fh.comm_->local_;
  return kOk;
}

Status file_set_info(io::File& fh, comm::Info* info) {
  io::set_info(fh, info);
  return fh.agree(kOk);
}

Status file_get_info(io::File& fh, Ref<comm::Info>& info_used) {
  info_used = io::get_info(fh);
  return info_used ? kOk : fail(Errc::kNoMem, "no memory for another info object");
}

Status file_set_view(io::File& fh, Count disp, layout::Datatype& etype, layout::Datatype& filetype, const char* datarep,
                     comm::Info* info) {
  HR_TRY(must_be_committed("etype", etype));
  HR_TRY(must_be_committed("filetype", filetype));
  return io::set_view(fh, disp, etype, filetype, datarep, info);
}

Status file_get_view(io::File& fh, MPI_Offset& disp, Ref<layout::Datatype>& etype, Ref<layout::Datatype>& filetype,
                     char* datarep) {
  const io::FileView& view = *fh.view_;
  disp = view.displacement();
  etype = lent(view.etype());
  filetype = lent(view.filetype());
  std::memcpy(datarep, view.representation().name.c_str(), view.representation().name.size() + 1);
  return kOk;
}

Status file_seek(io::File& fh, Count offset, int whence) { return io::seek(fh, offset, whence); }
Status file_seek_shared(io::File& fh, Count offset, int whence) { return io::seek_shared(fh, offset, whence); }
Status file_get_position(io::File& fh, MPI_Offset& offset) { return io::get_position(fh, &offset); }
Status file_get_position_shared(io::File& fh, MPI_Offset& offset) { return io::get_position_shared(fh, &offset); }
Status file_get_byte_offset(io::File& fh, Count offset, MPI_Offset& disp) {
  return io::get_byte_offset(fh, offset, &disp);
}

Status file_get_type_extent(io::File& fh, layout::Datatype& datatype, Count& extent) {
  return io::get_type_extent(fh, datatype, &extent);
}

Status register_datarep(const char* datarep, MPI_Datarep_conversion_function* read_conversion_fn,
                        MPI_Datarep_conversion_function* write_conversion_fn,
                        MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) {
  return add_datarep<MPI_Datarep_conversion_function, int>(datarep, read_conversion_fn, write_conversion_fn,
                                                           MPI_CONVERSION_FN_NULL, dtype_file_extent_fn, extra_state);
}

Status register_datarep_c(const char* datarep, MPI_Datarep_conversion_function_c* read_conversion_fn,
                          MPI_Datarep_conversion_function_c* write_conversion_fn,
                          MPI_Datarep_extent_function* dtype_file_extent_fn, void* extra_state) {
  return add_datarep<MPI_Datarep_conversion_function_c, MPI_Count>(
      datarep, read_conversion_fn, write_conversion_fn, MPI_CONVERSION_FN_NULL_C, dtype_file_extent_fn, extra_state);
}

}  // namespace hr::bind::impl
