#include "rma/device.hpp"

#include <algorithm>
#include <memory>
#include <string>

#include "base/knobs.hpp"
#include "base/log.hpp"
#include "comm/agree.hpp"
#include "mem/device/fence.hpp"
#include "mem/device/ipc.hpp"
#include "p2p/p2p.hpp"
#include "p2p/progress.hpp"

namespace hr::rma {

using mem::device::Context;
using mem::device::Current;
using mem::device::Export;

namespace {

constexpr int kExportsTag = 0x10020;

struct WindowExport {
  Export memory{};
  std::uint64_t exported = 0;
};

std::vector<int> others_here(const Window& window) {
  std::vector<int> procs;
  for (int rank = 0; rank < window.size(); ++rank) {
    if (rank != window.rank() && p2p::shares_memory(window.proc(rank))) procs.push_back(window.proc(rank));
  }
  return procs;
}

// True if the operation succeeded; otherwise logs the reason, and the window's operations use messages.
bool had(Status status) {
  if (!status.ok()) {
    const std::string why = take_detail();
    log::write(log::Level::kDecision, "a window in device memory uses messages: %s", why.c_str());
  }
  return status.ok();
}

WindowExport export_own(Window& window) {
  WindowExport own;
  const std::vector<int> procs = others_here(window);
  if (!window.where_.is_device() || procs.empty() || window.own().bytes == 0) return own;
  const auto begin = reinterpret_cast<mem::device::DeviceAddress>(window.own().base);
  const auto end = begin + static_cast<mem::device::DeviceAddress>(window.own().bytes);
  own.exported = had(mem::device::export_to(procs, window.where_, {begin, end}, &own.memory)) ? 1 : 0;
  return own;
}

Status map(Window& window, Context& context, int rank, const Export& memory) {
  Member& member = window.member(rank);
  mem::device::Mapping* mapping = nullptr;
  HR_TRY(mem::device::map_import(context, window.proc(rank), memory, &mapping));
  window.mappings_.push_back(mapping);
  auto* const base = reinterpret_cast<std::byte*>(mem::device::base_of(*mapping) + (member.address - memory.base));
  auto where = std::make_unique<mem::Location>();
  HR_TRY(mem::classify(base, where.get(), static_cast<std::size_t>(member.bytes)));
  if (!where->is_device()) return fail(Errc::kUnsupportedOperation, "the mapping is unknown to the driver");
  // Sets the device for which the memory was mapped: for chunks, the driver reports the device that contains them, on
  // which this process may have no context.
  where->context = context.handle();
  where->device = static_cast<std::int16_t>(context.device());
  where->chunks = false;
  member.base = base;
  member.device = std::move(where);
  member.path = Path::kMapped;
  return kOk;
}

Status map_others(Window& window, const std::vector<WindowExport>& exports) {
  if (!window.where_.is_device()) return kOk;  // there is no context in which to map them
  Context* context = nullptr;
  HR_TRY(Context::of(window.where_, &context));
  const Current current(*context);
  HR_TRY(current.status());
  for (int rank = 0; rank < window.size(); ++rank) {
    const WindowExport& peer = exports[static_cast<std::size_t>(rank)];
    if (rank == window.rank() || peer.exported == 0 || !p2p::shares_memory(window.proc(rank))) continue;
    static_cast<void>(had(map(window, *context, rank, peer.memory)));
  }
  return kOk;
}

}  // namespace

Status share_devices(Window& window, const std::vector<Facts>& facts) {
  const bool any = std::any_of(facts.begin(), facts.end(), [](const Facts& each) { return each.device != 0; });
  if (!any) return kOk;
  const bool shares = window.file_ != nullptr;
  const bool maps = shares && knobs().device_ipc != DeviceIpcChoice::kOff;
  const WindowExport own = maps ? export_own(window) : WindowExport{};
  std::vector<WindowExport> exports(facts.size());
  HR_TRY(p2p::run_blocking(comm::allgather(exchange_members(window, kExportsTag), &own, sizeof own,
                                           reinterpret_cast<std::byte*>(exports.data()))));
  if (!shares) return kOk;
  // Other processes on this host may update this process's memory directly.
  window.updaters_ = window.shared_words_;
  window.own_words_ = window.own().control;
  if (maps) static_cast<void>(had(map_others(window, exports)));
  return kOk;
}

void unmap_devices(Window& window) noexcept {
  for (mem::device::Mapping* mapping : window.mappings_) mem::device::unpin(mapping);
  window.mappings_.clear();
}

Status settle_device(const Window& window) {
  if (!window.where_.is_device()) return kOk;
  mem::device::Fence fence;
  HR_TRY(fence.set(window.where_));
  if (fence.passed()) return kOk;
  p2p::PolledWait polled;
  polled.hold(true);
  const Status status = p2p::wait_until([&] { return fence.passed(); });
  polled.hold(false);
  return status;
}

}  // namespace hr::rma
