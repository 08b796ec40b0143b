// Blocking, non-blocking and split data accesses, and the file pointers.
#include <utility>

#include "base/abi.hpp"
#include "io/operation.hpp"
#include "io/shared_words.hpp"

namespace hr::io {
namespace {

int kind_of(const Access& access) { return static_cast<int>(access.way) * 4 + static_cast<int>(access.pointer); }

Status start_in_background(File& file, const Access& access, p2p::Request** request) {
  auto operation = std::make_unique<Operation>(file, access, true);
  HR_TRY(operation->prepare());
  p2p::Task task = operation->execute();
  return p2p::run_as_request(std::move(task), std::move(operation), &file, request);
}

// Computes the target of a seek, in etypes.
Status target(const File& file, Count current, Count offset, int whence, Count* pointer) {
  Count base = 0;
  if (whence == abi::kSeekCur) {
    base = current;
  } else if (whence == abi::kSeekEnd) {
    Count bytes = 0;
    HR_TRY(file.disk_->size(&bytes));
    const FileView& view = *file.view_;
    base = (view.position_at(bytes) + view.etype_bytes() - 1) / view.etype_bytes();
  } else if (whence != abi::kSeekSet) {
    return fail(Errc::kArg, "whence is %d; it is MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END", whence);
  }
  Count sum = 0;
  if (__builtin_add_overflow(base, offset, &sum) || sum < 0) {
    return fail(Errc::kArg, "the pointer would be at etype %lld %+lld, before the view's beginning",
                static_cast<long long>(base), static_cast<long long>(offset));
  }
  *pointer = sum;
  return kOk;
}

Status not_sequential(const File& file) {
  if (!file.sequential()) return kOk;
  return fail(
      Errc::kUnsupportedOperation,
      "%s was opened with MPI_MODE_SEQUENTIAL, where nothing but the shared pointer's reads and writes is allowed",
      file.disk_->path().c_str());
}

}  // namespace

Status run(File& file, const Access& access, p2p::Completion* completion) {
  Operation operation(file, access, false);
  HR_TRY(operation.prepare());
  const Status moved = p2p::run_blocking(operation.execute());
  operation.describe(completion);
  return moved;
}

Status start(File& file, const Access& access, p2p::Request** request) {
  return start_in_background(file, access, request);
}

Status begin(File& file, const Access& access) {
  if (file.split_.request != nullptr)
    return fail(Errc::kOther, "another split collective operation on %s is under way; end it first",
                file.disk_->path().c_str());
  p2p::Request* request = nullptr;
  HR_TRY(start_in_background(file, access, &request));
  // The operation holds the file, and the file holds the request; end() breaks the cycle.
  file.split_ = {request, access.buffer, kind_of(access)};
  return kOk;
}

Status end(File& file, const Access& access, p2p::Completion* completion) {
  const Split split = file.split_;
  if (split.request == nullptr || split.kind != kind_of(access))
    return fail(Errc::kOther, "no split collective operation of this kind on %s has begun", file.disk_->path().c_str());
  if (split.buffer != access.buffer)
    return fail(Errc::kBuffer, "the buffer is %p, the operation began with %p", access.buffer, split.buffer);
  HR_TRY(p2p::wait(*split.request));
  file.split_ = {};
  *completion = split.request->completion_;
  const Status moved = completion->error;
  if (!moved.ok()) set_detail(split.request->detail());
  p2p::release_request(split.request);
  return moved;
}

Status seek(File& file, Count offset, int whence) {
  HR_TRY(not_sequential(file));
  return target(file, file.pointer_, offset, whence, &file.pointer_);
}

Status get_position(File& file, Count* offset) {
  HR_TRY(not_sequential(file));
  *offset = file.pointer_;
  return kOk;
}

Status seek_shared(File& file, Count offset, int whence) {
  Status status = not_sequential(file);
  Count current = 0, wanted = 0;
  if (status.ok()) status = file.agree(kOk);
  if (status.ok()) status = get_position_shared(file, &current);
  if (status.ok()) status = target(file, current, offset, whence, &wanted);
  Count first = wanted;
  HR_TRY(file.tell(&first, sizeof first));
  if (status.ok() && first != wanted) {
    status = fail(Errc::kNotSame, "the pointer would go to etype %lld here and to %lld on process 0",
                  static_cast<long long>(wanted), static_cast<long long>(first));
  }
  HR_TRY(file.agree(status));
  if (file.comm_->rank() == 0) file.shared_->place_pointer(wanted);
  return file.agree(kOk);
}

Status get_position_shared(File& file, Count* offset) {
  HR_TRY(not_sequential(file));
  return p2p::run_blocking(file.shared_->advance(0, offset));
}

Status get_byte_offset(File& file, Count offset, Count* bytes) {
  HR_TRY(not_sequential(file));
  if (offset < 0) return fail(Errc::kArg, "offset is %lld; it may not be negative", static_cast<long long>(offset));
  *bytes = file.view_->offset_of(offset * file.view_->etype_bytes());
  return kOk;
}

}  // namespace hr::io
