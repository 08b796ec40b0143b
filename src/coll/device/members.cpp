#include "coll/device/members.hpp"

#include <cstring>

#include "base/knobs.hpp"
#include "coll/messages.hpp"
#include "coll/reduction.hpp"
#include "coll/shared/cells.hpp"

namespace hr::coll::device {
namespace {

using p2p::Task;

// What of its two buffers a process uses; the whole of each is one view for the operations that come here.
bool has_whole(const Blocks& blocks) noexcept {
  return blocks.shape() == Blocks::Shape::kUniform || blocks.shape() == Blocks::Shape::kConsecutive;
}

// False when others cannot reach it. A buffer that is not there is reachable.
bool describe_buffer(const Call& call, const Blocks& blocks, Buffer* buffer, mem::Location* near) {
  if (blocks.none()) return true;
  if (!has_whole(blocks)) return false;
  const View& view = blocks.all();
  if (view.packed == 0) return true;
  if (!view.where.is_device() || !view.contiguous) return false;
  *near = view.where;
  buffer->address = reinterpret_cast<std::uintptr_t>(view.data());
  buffer->bytes = view.packed;
  for (int rank = 0; rank < call.size(); ++rank) {
    if (rank != call.rank() && !mem::cuda::export_to(call.comm->peer_proc(rank), view.where, &buffer->allocation).ok())
      return false;
  }
  return true;
}

struct DataFinal {
  mem::cuda::Fence& fence;
  bool operator()() { return fence.passed(); }
};

struct WorkDone {
  layout::cuda::PeerWork& work;
  Status status = kOk;
  bool operator()() {
    bool done = false;
    status = work.poll(&done);
    return done;
  }
};

struct EverybodyTried {
  const Call& call;
  bool mapped = true;
  int next = 0;
  bool operator()() noexcept {
    for (; next < call.size(); ++next) {
      const std::uint64_t result = call.area->control(next).device_trial.value.load(std::memory_order_acquire);
      if (result == 0) return false;
      mapped = mapped && result == 1;
    }
    return true;
  }
};

struct EverybodyDone {
  const Call& call;
  int next = 0;
  bool operator()() noexcept {
    for (; next < call.size(); ++next) {
      if (call.area->control(next).device_done.value.load(std::memory_order_acquire) <= call.ticket) return false;
    }
    return true;
  }
};

}  // namespace

Buffers Members::describe(const Call& call) {
  Buffers own;
  near_ = {};
  bool reachable = call.size() <= layout::cuda::kMaxReduceSides && knobs().cuda_ipc != CudaIpcChoice::kOff &&
                   call.operation != Operation::kBarrier && describe_buffer(call, call.send, &own.send, &near_) &&
                   describe_buffer(call, call.recv, &own.recv, &near_) && near_.is_device();
  if (reachable && call.op != nullptr) {
    const layout::Datatype& type = *contribution(call).type;
    reachable = type.one_run() && layout::cuda::PeerWork::can_reduce(near_, *call.op, type);
  }
  if (call.send.none()) own.send = own.recv;
  own.reachable = reachable ? 1 : 0;
  return own;
}

Task Members::exchange(const Call& call) {
  shared::CellFree free{call};
  HR_CO_UNTIL(call, free);
  const Buffers own = describe(call);
  if (own.reachable != 0) {
    // Without a context of the device the work itself says so.
    (void)fence_.set(near_);
    DataFinal final{fence_};
    HR_CO_UNTIL(call, final);
  }
  std::memcpy(shared::own_cell(call).data(sizeof own), &own, sizeof own);
  shared::publish(call, sizeof own);
  shared::CellsArrived arrived = shared::others_arrived(call);
  HR_CO_UNTIL(call, arrived);
  call.area->seen_everybody(call.ticket);
  agreed_ = true;
  all_.resize(static_cast<std::size_t>(call.size()));
  for (int rank = 0; rank < call.size(); ++rank) {
    Buffers& member = all_[static_cast<std::size_t>(rank)];
    std::memcpy(&member, shared::cell_of(call, rank).data(sizeof member), sizeof member);
    agreed_ = agreed_ && member.reachable != 0;
  }
  if (agreed_ && trial_ == Trial::kNotYet) {
    Task trying = try_mappings(call);
    HR_CO_TRY(co_await trying);
  }
  agreed_ = agreed_ && trial_ == Trial::kPassed;
  co_return kOk;
}

Task Members::try_mappings(const Call& call) {
  bool mapped = true;
  for (int rank = 0; rank < call.size() && mapped; ++rank) {
    Reach unused;
    mapped = reach(call, rank, &unused).ok();
  }
  mappings_.release();
  call.area->control(call.rank()).device_trial.value.store(mapped ? 1 : 2, std::memory_order_release);
  EverybodyTried everybody{call};
  HR_CO_UNTIL(call, everybody);
  trial_ = everybody.mapped ? Trial::kPassed : Trial::kFailed;
  co_return kOk;
}

Status Members::reach(const Call& call, int rank, Reach* reach) {
  const Buffers& member = all_[static_cast<std::size_t>(rank)];
  *reach = {member.send.address, member.recv.address};
  if (rank == call.rank()) return kOk;
  const int proc = call.comm->peer_proc(rank);
  if (member.send.bytes != 0) {
    HR_TRY(mappings_.map(near_, proc, member.send.allocation, member.send.address, &reach->send));
  }
  if (member.recv.bytes != 0) {
    HR_TRY(mappings_.map(near_, proc, member.recv.allocation, member.recv.address, &reach->recv));
  }
  return kOk;
}

Task Members::finish(const Call& call, Status status) {
  WorkDone done{work_};
  HR_CO_UNTIL(call, done);
  mappings_.release();
  call.area->control(call.rank()).device_done.value.store(call.ticket + 1, std::memory_order_release);
  EverybodyDone everybody{call};
  HR_CO_UNTIL(call, everybody);
  co_return status.ok() ? done.status : status;
}

Task Members::carry_out(const Call& call, Status (*start)(const Call&, Members&)) {
  Members& members = call.area->members();
  const Status started = start(call, members);
  Task finishing = members.finish(call, started);
  const Status status = co_await finishing;
  co_return status;
}

}  // namespace hr::coll::device
