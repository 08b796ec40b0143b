// Queries and calls on an open file as a whole (MPI 5.0 sections 14.2.4 to 14.2.8, 14.3, 14.5.1, 14.6).
#include "base/abi.hpp"
#include "boot/boot.hpp"
#include "io/file_form.hpp"
#include "io/io.hpp"
#include "io/shared_words.hpp"

namespace hr::io {
namespace {

Status not_during_split(const File& file) {
  if (file.split_.request == nullptr) return kOk;
  return fail(Errc::kOther, "a split collective operation on %s is under way; end it first",
              file.disk_->path().c_str());
}

Status may_change(const File& file, Count bytes) {
  HR_TRY(not_during_split(file));
  if (!file.may_write()) return fail(Errc::kReadOnly, "%s was opened with MPI_MODE_RDONLY", file.disk_->path().c_str());
  if (file.sequential())
    return fail(Errc::kUnsupportedOperation, "%s was opened with MPI_MODE_SEQUENTIAL", file.disk_->path().c_str());
  if (bytes < 0) return fail(Errc::kArg, "size is %lld; it may not be negative", static_cast<long long>(bytes));
  return kOk;
}

// Waits until all processes have called do_once(), and lets process 0 call act() for all; then all return.
template <class Do>
Status do_once(File& file, Status status, Count bytes, Do&& act) {
  Count firsts = bytes;
  HR_TRY(file.tell(&firsts, sizeof firsts));
  if (status.ok() && firsts != bytes) {
    status = fail(Errc::kNotSame, "size is %lld here and %lld on process 0", static_cast<long long>(bytes),
                  static_cast<long long>(firsts));
  }
  HR_TRY(file.agree(status));
  if (file.comm_->rank() == 0) status = act();
  return file.agree(status);
}

bool first_on_host(const File& file) {
  const comm::ProcList& procs = file.comm_->local_->procs();
  for (int rank = 0; rank < file.comm_->rank(); ++rank) {
    if (boot::processes().on_this_host(procs[rank])) return false;
  }
  return true;
}

}  // namespace

Status set_size(File& file, Count bytes) {
  return do_once(file, may_change(file, bytes), bytes, [&] { return file.disk_->resize(bytes); });
}

Status preallocate(File& file, Count bytes) {
  return do_once(file, may_change(file, bytes), bytes, [&] { return bytes == 0 ? kOk : file.disk_->reserve(bytes); });
}

Status get_size(File& file, Count* bytes) { return file.disk_->size(bytes); }

void set_info(File& file, const comm::Info* info) {
  if (info != nullptr) file.hints_.take(*info);
}

Ref<comm::Info> get_info(const File& file) { return file.hints_.report(); }

Status set_view(File& file, Count displacement, layout::Datatype& etype, layout::Datatype& filetype,
                const char* datarep, const comm::Info* info) {
  std::shared_ptr<const FileView> view;
  Status status = not_during_split(file);
  const Representation* const representation = find_representation(datarep);
  if (status.ok() && representation == nullptr)
    status = fail(Errc::kUnsupportedDatarep,
                  "there is no data representation \"%.127s\"; native, internal and external32 are there, and what "
                  "MPI_Register_datarep was given",
                  datarep);
  Count start = displacement;
  if (displacement == abi::kDisplacementCurrent && file.sequential()) {
    Count pointer = 0;
    if (status.ok()) status = p2p::run_blocking(file.shared_->advance(0, &pointer));
    start = file.view_->offset_of(pointer * file.view_->etype_bytes());
  } else if (status.ok() && displacement < 0) {
    status = fail(Errc::kArg, "disp is %lld; it may not be negative%s", static_cast<long long>(displacement),
                  displacement == abi::kDisplacementCurrent
                      ? ", and MPI_DISPLACEMENT_CURRENT is for files opened with MPI_MODE_SEQUENTIAL"
                      : "");
  }
  if (status.ok()) status = FileView::make(start, etype, filetype, *representation, file.may_write(), &view);
  // All processes must finish their accesses through the old view before the pointers change.
  HR_TRY(file.agree(status));
  file.view_ = std::move(view);
  file.pointer_ = 0;
  set_info(file, info);
  if (file.comm_->rank() == 0) file.shared_->place_pointer(0);
  return file.agree(kOk);
}

Status get_type_extent(File& file, layout::Datatype& type, Count* extent) {
  Ref<layout::Datatype> form;
  HR_TRY(file_form(type, file.view_->representation(), &form));
  *extent = form->extent();
  return kOk;
}

Status set_atomicity(File& file, bool atomic) {
  Status status = not_during_split(file);
  bool firsts = atomic;
  HR_TRY(file.tell(&firsts, sizeof firsts));
  if (status.ok() && firsts != atomic)
    status = fail(Errc::kNotSame, "flag is %d here and %d on process 0", atomic, firsts);
  HR_TRY(file.agree(status));
  file.atomic_ = atomic;
  return kOk;
}

Status sync(File& file) {
  HR_TRY(file.agree(not_during_split(file)));
  // All processes on a host share the file's pages in the page cache, so one sync per host is sufficient.
  return file.agree(file.may_write() && first_on_host(file) ? file.disk_->sync() : kOk);
}

}  // namespace hr::io
