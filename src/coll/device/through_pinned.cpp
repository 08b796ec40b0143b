#include "coll/device/through_pinned.hpp"

#include <optional>

#include "base/knobs.hpp"
#include "base/statistics.hpp"
#include "coll/shared/wait.hpp"
#include "coll/view_tools.hpp"
#include "mem/cuda/pinned_staging.hpp"
#include "mem/cuda/ticket.hpp"
#include "mem/cuda/two_rows.hpp"

namespace hr::coll::device {
namespace {

using layout::View;
using mem::cuda::Context;
using mem::cuda::Current;
using mem::cuda::DeviceAddress;
using mem::cuda::TwoRows;
using p2p::Task;

bool on_device(const Blocks& blocks) noexcept { return !blocks.none() && blocks.all().where.is_device(); }

DeviceAddress address_of(const View& view) noexcept { return reinterpret_cast<std::uintptr_t>(view.data()); }

// The host copy of one buffer. What is contiguous is copied by a copy engine while the task polls; other layouts at
// once, with their holes.
class Mirror {
 public:
  Mirror() = default;
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;
  // Of a task that is given up: nothing may write to the memory any more.
  ~Mirror() {
    while (ticket_.recorded() && !(*this)()) spin_pause();
  }

  // Nothing to mirror where the buffer is not on a device.
  Status make(const Blocks& blocks) {
    if (!on_device(blocks)) return kOk;
    device_ = &blocks.all();
    if (!device_->contiguous) {
      typed_.emplace(device_->count, *device_->type);
      host_ = typed_->view();
      return kOk;
    }
    HR_TRY(Context::of(device_->where, &context_));
    const Current current(*context_);
    HR_TRY(current.status());
    const std::size_t rows = TwoRows::serves(device_->packed) ? TwoRows{device_->packed}.span() : 0;
    HR_TRY(staging_.take(*context_, rows_at() + rows));
    host_ = *device_;
    host_.address = moved(staging_.data(), -device_->type->true_lb());
    host_.where = {};
    host_.where.pinned = true;
    return kOk;
  }
  [[nodiscard]] bool used() const noexcept { return device_ != nullptr; }

  Status start_out() {
    if (typed_) return layout::copy(*device_, host_);
    return start(1, [&](Context& context, mem::cuda::StreamHandle stream) -> Status {
      HR_CUDA(context.device(), copy_async, (staging_.address(), address_of(*device_), device_->packed, stream),
              "%zu bytes of a collective", device_->packed);
      return kOk;
    });
  }

  Status start_in() {
    if (typed_) return layout::copy(host_, *device_);
    return start(0, [&](Context& context, mem::cuda::StreamHandle stream) -> Status {
      const TwoRows rows{device_->packed};
      if (context.time_sliced() && TwoRows::serves(rows.bytes)) {
        rows.lay_out(staging_.data(), staging_.data() + rows_at());
        return rows.start_in(context, stream, staging_.address() + rows_at(), address_of(*device_));
      }
      HR_CUDA(context.device(), copy_async, (address_of(*device_), staging_.address(), device_->packed, stream),
              "%zu bytes of a collective", device_->packed);
      return kOk;
    });
  }

  // As a condition (shared/wait.hpp): the copy that was started is done.
  bool operator()() {
    bool done = true;
    status_ = ticket_.poll("a copy of a collective's buffer", &done);
    return done;
  }
  [[nodiscard]] Status status() const noexcept { return status_; }

  // What the algorithm sees.
  [[nodiscard]] Blocks blocks(const Blocks& device) const noexcept {
    return used() ? device.moved_to(host_) : device;
  }

 private:
  // Behind the run, in a line of its own.
  [[nodiscard]] std::size_t rows_at() const noexcept { return (device_->packed + 63) / 64 * 64; }

  template <class Start>
  Status start(int lane, const Start& copy) {
    Context* context = nullptr;
    HR_TRY(Context::of(device_->where, &context));
    const Current current(*context);
    HR_TRY(current.status());
    mem::cuda::StreamHandle stream = nullptr;
    HR_TRY(context->lane(lane, &stream));
    HR_TRY(copy(*context, stream));
    return ticket_.record(*context, stream);
  }

  const View* device_ = nullptr;
  Context* context_ = nullptr;
  View host_;
  std::optional<TypedScratch> typed_;
  mem::cuda::PinnedStaging staging_;
  mem::cuda::Ticket ticket_;  // goes before the memory that its copy uses
  Status status_{};
};

// The algorithm reads what is in the receive buffer, or leaves some of it as it is.
bool begins_in_recv(const Call& call) noexcept {
  return call.in_place || call.operation == Operation::kExscan ||
         (call.operation == Operation::kBcast && call.is_root());
}
bool ends_in_recv(const Call& call) noexcept { return call.operation != Operation::kBcast || !call.is_root(); }

// Bytes of the longest buffer of the operation, as all members know them.
std::size_t longest(const Call& call) noexcept {
  constexpr std::uint32_t kOfBlocks =
      serves(Operation::kGather, Operation::kScatter, Operation::kAllgather, Operation::kAllgatherv,
             Operation::kAlltoall);
  const bool blocks = (kOfBlocks & serves(call.operation)) != 0;
  return blocks ? call.bytes * static_cast<std::size_t>(call.size()) : call.bytes;
}

bool is_whole(const Blocks& blocks) noexcept {
  return blocks.none() || blocks.shape() == Blocks::Shape::kUniform ||
         blocks.shape() == Blocks::Shape::kConsecutive;
}

}  // namespace

bool pinned_pays(const Call& call) noexcept { return longest(call) <= knobs().cuda_time_sliced_collective_bytes; }

bool fits_pinned(const Call& call) noexcept { return is_whole(call.send) && is_whole(call.recv); }

Task through_pinned(const Call& call, const Algorithm* algorithm) {
  add(Statistic::coll_through_pinned);
  Call host = call;
  Mirror send, recv;
  HR_CO_TRY(send.make(call.send));
  HR_CO_TRY(recv.make(call.recv));
  if (send.used()) HR_CO_TRY(send.start_out());
  if (recv.used() && begins_in_recv(call)) HR_CO_TRY(recv.start_out());
  const p2p::When sent = shared::when(send);
  co_await sent;
  HR_CO_TRY(send.status());
  const p2p::When received = shared::when(recv);
  co_await received;
  HR_CO_TRY(recv.status());
  host.send = send.blocks(call.send);
  host.recv = recv.blocks(call.recv);
  Task inner = algorithm->run(host);
  const Status status = co_await inner;
  if (!status.ok()) co_return status;
  if (recv.used() && ends_in_recv(call)) HR_CO_TRY(recv.start_in());
  const p2p::When stored = shared::when(recv);
  co_await stored;
  co_return recv.status();
}

}  // namespace hr::coll::device
