#include "io/operation.hpp"

#include <new>
#include <utility>
#include <vector>

#include "base/abi.hpp"
#include "base/counters.hpp"
#include "base/lock.hpp"
#include "io/device_transfer.hpp"
#include "io/independent.hpp"
#include "io/shared_words.hpp"
#include "io/state.hpp"
#include "io/two_phase.hpp"

namespace hr::io {

using p2p::Task;

Operation::Operation(File& file, const Access& access, bool background) noexcept
    : file_(Ref<File>::share(&file)),
      disk_(file.disk_),
      view_(file.view_),
      access_(access),
      type_(Ref<layout::Datatype>::share(access.type)),
      background_(background) {}

const char* Operation::what() const noexcept { return writes() ? "write to a file" : "read from a file"; }

void Operation::describe(p2p::Completion* completion) const noexcept {
  std::size_t bytes = done_;
  if (converts_) {
    // Counts only complete elements of the program's type.
    const std::size_t each = program_.count == 0 ? 0 : memory_.packed / static_cast<std::size_t>(program_.count);
    bytes = each == 0 ? 0 : done_ / each * static_cast<std::size_t>(program_.type->size());
  }
  completion->bytes = bytes;
}

Status Operation::prepare() {
  if (access_.collective) tag_ = file_->comm_->next_collective_tag();
  const Status looked = check_arguments();
  if (looked.ok() || !access_.collective || file_->alone()) return looked;
  refused_ = looked;
  refusal_ = take_detail();
  memory_ = program_ = bytes_view(nullptr, 0);
  held_.reset();
  converts_ = false;
  etypes_ = 0;
  return kOk;
}

Status Operation::check_arguments() {
  HR_TRY(check());
  HR_TRY(layout::make_view(access_.buffer, access_.count, *access_.type, &program_));
  memory_ = program_;
  HR_TRY(convert());
  HR_TRY(find_position());
  return stage();
}

Status Operation::check() const {
  const File& file = *file_;
  if (writes() && !file.may_write())
    return fail(Errc::kReadOnly, "%s was opened with MPI_MODE_RDONLY", disk_->path().c_str());
  if (!writes() && !file.may_read())
    return fail(Errc::kAccess, "%s was opened with MPI_MODE_WRONLY", disk_->path().c_str());
  if (file.sequential() && access_.pointer != Pointer::kShared) {
    return fail(Errc::kUnsupportedOperation,
                "%s was opened with MPI_MODE_SEQUENTIAL, which only allows operations of the shared pointer",
                disk_->path().c_str());
  }
  if (access_.collective && file.split_.request != nullptr) {
    return fail(Errc::kOther, "a split collective operation on %s is under way; end it first", disk_->path().c_str());
  }
  return kOk;
}

Status Operation::convert() {
  const Representation& representation = view_->representation();
  converts_ = !representation.memorys;
  if (!converts_) return kOk;
  Count each = 0, bytes = 0;
  HR_TRY(file_size(representation, *type_, &each));
  if (__builtin_mul_overflow(each, program_.count, &bytes))
    return fail(Errc::kCount, "%lld elements do not fit 63 bits of a file", static_cast<long long>(program_.count));
  held_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes)]);
  if (held_ == nullptr)
    return fail(Errc::kNoMem, "no memory for %lld bytes to convert data in", static_cast<long long>(bytes));
  memory_ = bytes_view(held_.get(), static_cast<std::size_t>(bytes));
  return writes() ? encode(representation, program_, held_.get()) : kOk;
}

Status Operation::find_position() {
  const Count etype = view_->etype_bytes();
  if (bytes() % etype != 0) {
    return fail(Errc::kArg, "%lld bytes are not a multiple of the view's etype size, %lld bytes",
                static_cast<long long>(bytes()), static_cast<long long>(etype));
  }
  if (writes() && bytes() != 0 && view_->empty())
    return fail(Errc::kArg, "the view's filetype has no data that %lld bytes could be written to",
                static_cast<long long>(bytes()));
  etypes_ = bytes() / etype;
  Count first = 0;
  if (access_.pointer == Pointer::kExplicit) {
    first = access_.offset;
    if (first < 0) return fail(Errc::kArg, "offset is %lld; it may not be negative", static_cast<long long>(first));
  } else if (access_.pointer == Pointer::kIndividual) {
    first = std::exchange(file_->pointer_, file_->pointer_ + etypes_);
  }
  position_ = first * etype;
  return kOk;
}

// Stages data for the worker, which cannot access devices. If the device cannot move the memory itself, data to write
// is fetched beforehand, and data read is stored afterwards.
Status Operation::stage() {
  if (!background_ || !memory_.where.is_device() || memory_.packed == 0 || device_moves(memory_)) return kOk;
  held_.reset(new (std::nothrow) std::byte[memory_.packed]);
  if (held_ == nullptr) return fail(Errc::kNoMem, "no memory for %zu bytes of a device's data", memory_.packed);
  if (writes()) HR_TRY(layout::pack(memory_, 0, memory_.packed, held_.get()));
  memory_ = bytes_view(held_.get(), memory_.packed);
  return kOk;
}

// Claims a range of the file from the shared pointer. In an ordered access, the ranges of all processes follow one
// another.
Task Operation::claim() {
  Count before = 0;
  if (!access_.collective) {
    Task advancing = file_->shared_->advance(etypes_, &before);
    HR_CO_TRY(co_await advancing);
    position_ = before * view_->etype_bytes();
    co_return kOk;
  }
  const comm::Members members = file_->members(tag_);
  std::vector<Count> counts(static_cast<std::size_t>(members.size));
  Task telling = comm::allgather(members, &etypes_, sizeof etypes_, reinterpret_cast<std::byte*>(counts.data()));
  HR_CO_TRY(co_await telling);
  Count total = 0, mine = 0;
  for (int rank = 0; rank < members.size; ++rank) {
    if (rank == members.me) mine = total;
    total += counts[static_cast<std::size_t>(rank)];
  }
  if (members.me == 0) {
    Task advancing = file_->shared_->advance(total, &before);
    HR_CO_TRY(co_await advancing);
  }
  Task spreading = comm::broadcast(members, 0, &before, sizeof before);
  HR_CO_TRY(co_await spreading);
  position_ = (before + mine) * view_->etype_bytes();
  co_return kOk;
}

Task Operation::move() {
  // Two-phase accesses to overlapping bytes are not serialized, so they are not used in atomic mode.
  const bool together = access_.collective && access_.pointer != Pointer::kShared && !file_->alone() && !file_->atomic_;
  if (together) {
    Task moving = two_phase(this);
    HR_CO_TRY(co_await moving);
    co_return kOk;
  }
  if (!file_->atomic_) {
    Task moving = independent(this, &job_);
    HR_CO_TRY(co_await moving);
    co_return kOk;
  }
  Task locking = file_->shared_->lock();
  HR_CO_TRY(co_await locking);
  Task moving = independent(this, &job_);
  const Status moved = co_await moving;
  std::string detail = take_detail();
  Task unlocking = file_->shared_->unlock();
  HR_CO_TRY(co_await unlocking);
  set_detail(std::move(detail));
  co_return moved;
}

Task Operation::execute() {
  if (access_.pointer == Pointer::kShared) {
    Task claiming = claim();
    HR_CO_TRY(co_await claiming);
  }
  Task moving = move();
  const Status moved = co_await moving;
  counters::count_access(writes() ? counters::Access::kWrite : counters::Access::kRead, done_);
  if (!writes()) {
    std::string detail = take_detail();
    HR_CO_TRY(finish());
    set_detail(std::move(detail));
  }
  if (refused_.ok()) co_return moved;
  set_detail(refusal_);
  co_return refused_;
}

// Copies or converts the data read from its staging memory to the program's buffer.
Status Operation::finish() {
  if (held_ == nullptr || done_ == 0) return kOk;
  if (!converts_) return layout::unpack(program_, 0, done_, held_.get());
  layout::View there = program_;
  const std::size_t each = memory_.packed / static_cast<std::size_t>(program_.count);
  there.count = static_cast<Count>(done_ / each);
  there.packed = static_cast<std::size_t>(there.count * program_.type->size());
  there.contiguous = program_.type->contiguous(there.count);
  return there.count == 0 ? kOk : decode(view_->representation(), there, held_.get());
}

Task Operation::work(Job* job, std::function<Status()>* what) {
  if (!background_) {
    const int depth = LibraryLock::suspend();
    const Status status = (*what)();
    LibraryLock::resume(depth);
    co_return status;
  }
  worker().submit(*job, std::move(*what));
  p2p::When over = job->over();
  HR_CO_TRY(co_await over);
  co_return job->result();
}

}  // namespace hr::io
