#include "check/enqueued.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "check/buffers.hpp"
#include "check/call.hpp"
#include "check/collectives.hpp"
#include "check/diagnostic.hpp"
#include "check/match.hpp"
#include "check/ranges.hpp"
#include "check/report.hpp"
#include "check/state.hpp"
#include "comm/failure.hpp"
#include "enqueue/enqueue.hpp"
#include "layout/view.hpp"
#include "mem/independent.hpp"

namespace hr::check {
namespace {

struct Table final : FileState {
  std::unordered_map<const void*, Enqueued> all;  // by enqueue's operation
};

thread_local Enqueued* starting = nullptr;

Enqueued* find(const void* operation) {
  auto& all = own<Table>().all;
  const auto found = all.find(operation);
  return found == all.end() ? nullptr : &found->second;
}

Status changed(const Buffer& buffer, const Operation& operation) {
  const std::string call_site = text(operation.call_site);
  return fail(Errc::kBuffer,
              "buffer: %s (%p) of %s was changed before the operation was complete; let the stream wait for it "
              "(MPIX_Wait_enqueue) before anything changes or frees the buffer",
              buffer.name, buffer.address, call_site.c_str());
}

// Describes the operation of MPIX_Send_enqueue and the like.
Operation describe(const Call& call) {
  Operation operation;
  operation.call_site = call.call_site();
  operation.kind = call.find("dest") != nullptr     ? Operation::Kind::kSend
                   : call.find("source") != nullptr ? Operation::Kind::kReceive
                                                    : Operation::Kind::kCollective;
  if (const auto* comm = call.object<comm::Communicator>("comm"); comm != nullptr) operation.context = comm->context();
  operation.peer = static_cast<int>(call.number(operation.kind == Operation::Kind::kSend ? "dest" : "source"));
  operation.tag = static_cast<int>(call.number("tag"));
  operation.buffers = call.buffers;
  return operation;
}

// Returns the driver's number of the allocation; 0: there is none.
std::uint64_t allocation_of(const Buffer& buffer) {
  layout::View view;
  if (layout::make_view(buffer.address, buffer.count, *buffer.type, &view).ok()) return view.where.id;
  static_cast<void>(take_detail());
  return 0;
}

// True for memory of a device that stays there. Other memory is not compared: its contents as seen by the host may
// change while streams work.
bool is_plain_device(const Buffer& buffer) {
  layout::View view;
  const bool fine = layout::make_view(buffer.address, buffer.count, *buffer.type, &view).ok();
  if (!fine) static_cast<void>(take_detail());
  return fine && view.where.is_device() && !view.where.managed && view.where.context != nullptr;
}

// Returns what is wrong with an operation that is complete.
Status mistake_of(const Enqueued& one) {
  if (!one.mismatch.empty()) return fail(Errc::kType, "%s", one.mismatch.c_str());
  const mem::IndependentScope scope;
  for (std::size_t i = 0; i < one.operation.buffers.size(); ++i) {
    const Buffer& each = one.operation.buffers[i];
    // Freed memory of a device would count as the host's.
    if (allocation_of(each) != one.allocations[i] || has_changed(each)) return changed(each, one.operation);
  }
  return one.call ? outcome_of(one.call->first, one.call->second) : kOk;
}

class Watcher final : public enqueue::Watcher {
 public:
  void enqueued(const void* operation, const p2p::Request* request, bool captured) override {
    const Call* const call = current_call();
    if (call == nullptr) return;
    Enqueued& one = own<Table>().all[operation] = Enqueued{};
    one.captured = captured;
    const auto persistent = request == nullptr ? operations().end() : operations().find(request);
    if (persistent != operations().end()) {
      one.operation = persistent->second;
      one.operation.call_site = call->call_site();
    } else {
      one.operation = describe(*call);
    }
    one.operation.request = request;
  }

  void begins(const void* operation) override {
    starting = find(operation);
    if (starting == nullptr) return;
    tell_signature(starting->operation.call_site, starting->operation);
  }

  void began(const void* /*operation*/, const p2p::Request* inner) override {
    Enqueued* const one = std::exchange(starting, nullptr);
    if (one == nullptr) return;
    one->inner = inner;
    if (inner == nullptr) return take_back_signature(one->operation);
    // Only now is it known that the buffers have not been freed.
    const mem::IndependentScope scope;
    one->allocations.clear();
    for (const Buffer& each : one->operation.buffers) one->allocations.push_back(allocation_of(each));
    remember(one->operation.buffers);
    for (Buffer& each : one->operation.buffers) each.hashed = each.hashed && is_plain_device(each);
  }

  Status ends(const void* operation) override {
    Enqueued* const one = find(operation);
    if (one == nullptr) return kOk;
    const Status status = one->inner == nullptr ? kOk : mistake_of(*one);
    if (!status.ok()) keep_detail(one->operation.call_site.function);
    one->inner = nullptr;
    one->mismatch.clear();
    one->call.reset();
    if (!one->captured) own<Table>().all.erase(operation);
    return status;
  }

  void dropped(const void* operation) override { own<Table>().all.erase(operation); }
};

Watcher watcher;

void start() { enqueue::watcher = &watcher; }
void stop() { enqueue::watcher = nullptr; }

}  // namespace

Enqueued* starting_enqueued() noexcept { return starting; }

Enqueued* enqueued_by(const p2p::Request& request) {
  for (auto& [operation, each] : own<Table>().all) {
    if (each.inner == &request) return &each;
  }
  // A start may make progress, in which other receives are matched.
  if (starting == nullptr || starting->operation.kind != Operation::Kind::kReceive) return nullptr;
  const Operation& receive = starting->operation;
  const bool fits =
      request.context_ == receive.context && request.source_ == receive.peer && request.tag_ == receive.tag;
  const bool other = operations().contains(request.handle()) && receive.request != request.handle();
  return fits && !other ? starting : nullptr;
}

const Enqueued* enqueued_for(const void* request) {
  for (const auto& [operation, each] : own<Table>().all) {
    if (each.operation.request == request) return &each;
  }
  return nullptr;
}

std::vector<const Enqueued*> enqueued_in_progress(std::uint32_t context) {
  std::vector<const Enqueued*> found;
  for (const auto& [operation, each] : own<Table>().all) {
    if (each.inner != nullptr && (context == 0 || each.operation.context == context)) found.push_back(&each);
  }
  return found;
}

bool streams_go_on() {
  return std::ranges::any_of(own<Table>().all, [](const auto& each) {
    const Enqueued& one = each.second;
    return !one.captured && one.inner == nullptr && enqueued_in_progress(one.operation.context).empty();
  });
}

void complete_waited(Call& call) {
  if (!call.is("MPIX_Wait_enqueue") && !call.is("MPIX_Waitall_enqueue") && !call.is("MPIX_Runall_enqueue")) return;
  for (const void* const handle : call.before) {
    const auto found = operations().find(handle);
    // The handle of a request that the call has released may become that of another one.
    if (found == operations().end()) {
      for (auto& [operation, each] : own<Table>().all) {
        if (each.operation.request == handle) each.operation.request = nullptr;
      }
    }
    if (found == operations().end() || !found->second.persistent || !found->second.active) continue;
    found->second.active = false;
    call.completed.push_back(found->second);
  }
}

Status check_enqueued(const Call& call, const std::vector<Buffer>& buffers) {
  const auto* const comm = call.object<comm::Communicator>("comm");
  if (comm != nullptr && enqueue::stream_of(*comm) != nullptr) return kOk;
  const auto region = [](const Buffer& each) {
    return Region{reinterpret_cast<std::uintptr_t>(each.address), *each.type, each.count};
  };
  for (const auto& [operation, other] : own<Table>().all) {
    if (other.captured && other.inner == nullptr) continue;
    for (const Buffer& ours : buffers) {
      for (const Buffer& theirs : other.operation.buffers) {
        const bool shared = !ours.written && !theirs.written;
        const std::uintptr_t common = shared ? 0 : overlap(region(ours), region(theirs));
        if (common == 0) continue;
        const std::string call_site = text(other.operation.call_site);
        return fail(Errc::kBuffer,
                    "buffer: %s (%p) overlaps, from %p on, the %s buffer of %s, which its stream has not completed; "
                    "synchronise the stream first, or use other memory",
                    ours.name, ours.address, reinterpret_cast<const void*>(common), theirs.written ? "receive" : "send",
                    call_site.c_str());
      }
    }
  }
  return kOk;
}

extern const Diagnostic kEnqueued;
const Diagnostic kEnqueued{"enqueued", start, stop, nullptr, nullptr, nullptr};

}  // namespace hr::check
