#include "io/file.hpp"

#include <bit>
#include <utility>

#include "base/abi.hpp"
#include "io/shared_words.hpp"

namespace hr::io {

using p2p::Task;

namespace {

// Returns a bit for the error class; classes of programs' callbacks count as MPI_ERR_OTHER.
std::uint64_t bit_of(Status status) {
  if (status.ok()) return 0;
  const int error_class = comm::error_class_of(status.code());
  return std::uint64_t{1} << (error_class > 0 && error_class < 64 ? error_class : static_cast<int>(Errc::kOther));
}

}  // namespace

File::File() : Object(kKind) {}
File::~File() = default;

bool File::may_read() const noexcept { return (amode_ & abi::kModeWronly) == 0; }
bool File::may_write() const noexcept { return (amode_ & abi::kModeRdonly) == 0; }
bool File::sequential() const noexcept { return (amode_ & abi::kModeSequential) != 0; }

comm::Members File::members() const { return members(comm_->next_collective_tag()); }

comm::Members File::members(int tag) const {
  return {comm_->local_->procs(), comm_->size(), comm_->rank(), comm_->context() + comm::kSharedMemoryContext, tag};
}

Task agree(comm::Members members, Status* status) {
  const Status own = *status;
  std::uint64_t none = ~bit_of(own);
  std::string detail = take_detail();
  Task reducing = comm::and_reduce(members, &none, 1);
  HR_CO_TRY(co_await reducing);
  if (!own.ok()) {
    set_detail(std::move(detail));
  } else if (~none != 0) {
    *status = fail(static_cast<Errc>(std::countr_zero(~none)),
                   "another process of the file has this error; its message has the details");
  }
  co_return kOk;
}

Status File::agree(Status own) {
  if (alone()) return own;
  Status all = own;
  HR_TRY(p2p::run_blocking(io::agree(members(), &all)));
  return all;
}

Status File::tell(void* data, std::size_t bytes) {
  if (alone()) return kOk;
  return p2p::run_blocking(comm::broadcast(members(), 0, data, bytes));
}

}  // namespace hr::io
