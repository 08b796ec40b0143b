#include "check/one_sided.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "check/accesses.hpp"
#include "check/buffers.hpp"
#include "check/diagnostic.hpp"
#include "check/races.hpp"
#include "check/report.hpp"
#include "check/state.hpp"
#include "check/watch.hpp"
#include "layout/op.hpp"
#include "rma/window.hpp"

namespace hr::check {
namespace {

// Arguments of a call; equal for calls that repeat one another.
using Likeness = std::tuple<std::string_view, const void*, Count, const void*, Count, Count, const void*>;

// Operations that this process has started at one target and that may still use this process's buffers.
struct Pending {
  std::unordered_set<const void*> requests;
  std::map<Likeness, const void*> alike;
};

struct Found {
  std::uint32_t context;
  std::string text;
};

struct OneSided final : FileState {
  std::map<std::pair<std::uint32_t, int>, Pending> pending;  // indexed by context and target
  std::vector<Found> found;
  std::unordered_set<const void*> repeated;  // gets already reported as repeated
  std::uintptr_t next = 1;
  const void* alike = nullptr;  // the operation that the current call repeats
};

// Returns an odd number that replaces the request of an operation without a request. Handles are even.
const void* make_number() {
  auto& next = own<OneSided>().next;
  next += 2;
  return reinterpret_cast<const void*>(next);
}
bool is_number(const void* request) noexcept { return (reinterpret_cast<std::uintptr_t>(request) & 1U) != 0; }

Likeness likeness_of(const Call& call) {
  const Argument* const type = call.find("origin_datatype");
  const Argument* const target_type = call.find("target_datatype");
  return {call.function(),
          call.address("origin_addr"),
          call.number("origin_count"),
          type == nullptr ? nullptr : type->address,
          call.number("target_disp"),
          call.number("target_count"),
          target_type == nullptr ? nullptr : target_type->address};
}

void note_changed(const Buffer& buffer, const Operation& operation) {
  std::string text = "buffer: " + std::string(buffer.name) + " (" + pointer(buffer.address) + ") of " +
                     check::text(operation.call_site) +
                     " was changed before the operation was complete; change it after the end of the epoch, or after "
                     "MPI_Win_flush_local";
  own<OneSided>().found.push_back({operation.window, std::move(text)});
}

void finish(const void* request) {
  unwatch_buffer(request);
  const auto at = operations().find(request);
  if (at == operations().end()) return;
  Operation& operation = at->second;
  for (const Buffer& buffer : operation.buffers) {
    if (has_changed(buffer)) note_changed(buffer, operation);
  }
  note_free(operation);
  if (is_number(request)) {
    operations().erase(at);
  } else {
    operation.buffers.clear();
  }
}

void finish_all(const rma::Window& window, const Completes& what) {
  auto& all = own<OneSided>().pending;
  std::erase_if(all, [&](auto& entry) {
    if (entry.first.first != window.context() || (!what.all && entry.first.second != what.target)) return false;
    for (const void* const request : entry.second.requests) finish(request);
    return true;
  });
}

Pending& pending_of(const Call& call) {
  const auto* const window = call.object<rma::Window>("win");
  return own<OneSided>().pending[{window->context(), static_cast<int>(call.number("target_rank"))}];
}

// Checks a repeated operation. Getting the same data into the same buffer again is forbidden but harmless, so it is
// reported once. A repeated put only reads the buffer again.
Status check_repeated(const Call& call, const Operation& before) {
  for (const Buffer& buffer : before.buffers) {
    if (has_changed(buffer)) {
      const std::string call_site = text(before.call_site);
      return fail(Errc::kBuffer,
                  "buffer: %s (%p) of %s was changed before the operation was complete; change it after the end of the "
                  "epoch, or after MPI_Win_flush_local",
                  buffer.name, buffer.address, call_site.c_str());
    }
    if (buffer.written) unwatch_buffer(before.request);  // otherwise the call's own accesses would be reported
    if (!buffer.written || !own<OneSided>().repeated.insert(before.request).second) continue;
    const std::string here = text(call.call_site()), there = text(before.call_site);
    report(
        "buffer: %s (%p) of %s is the receive buffer of %s, which is not complete; it gets the same "
        "data twice",
        buffer.name, buffer.address, here.c_str(), there.c_str());
  }
  return kOk;
}

Status start(Call& call) {
  auto& all = own<OneSided>();
  all.alike = nullptr;
  call.buffers = local_buffers_of(call);
  if (call.buffers.empty()) return kOk;
  if (call.buffers.size() == 1 && call.find("request") == nullptr) {
    Pending& pending = pending_of(call);
    const auto found = pending.alike.find(likeness_of(call));
    const auto before = found == pending.alike.end() ? operations().end() : operations().find(found->second);
    if (before != operations().end()) {
      all.alike = before->first;
      return check_repeated(call, before->second);
    }
  }
  HR_TRY(check_use(call.buffers));
  remember(call.buffers);
  return kOk;
}

// Processes the loads and stores that the debug registers have reported since the last call.
void take_uses() {
  for (const Seen& seen : take_seen()) {
    if (seen.request == nullptr) {
      const CallSite call_site{seen.stored ? "a store" : "a load", seen.address};
      if (rma::Window* const window = window_of(seen.context))
        note_own_access(*window, seen.stored ? AccessKind::kStore : AccessKind::kLoad, call_site, seen.memory);
      continue;
    }
    const auto at = operations().find(seen.request);
    if (at == operations().end() || !at->second.active) continue;
    const Operation& operation = at->second;
    for (const Buffer& buffer : operation.buffers) {
      const bool its = buffer.written && first_byte(buffer) == seen.memory.begin;
      if (!its) continue;
      own<OneSided>().found.push_back(
          {operation.window, "buffer: " + std::string(buffer.name) + " (" + pointer(buffer.address) + ") of " +
                                 text(operation.call_site) + " was used before the operation was complete (" +
                                 text(CallSite{"a load or store", seen.address}) +
                                 "); complete it first, or use other memory"});
    }
  }
}

Status before(Call& call) {
  take_uses();
  if (access_of(call)) return start(call);
  const Completes what = completed_by(call);
  const auto* const window = call.object<rma::Window>("win");
  if (what.any && window != nullptr) finish_all(*window, what);
  return kOk;
}

void watch_written(const Operation& operation) {
  for (const Buffer& buffer : operation.buffers) {
    if (buffer.written && is_host(buffer)) return watch_buffer(operation.request, {first_byte(buffer), 0});
  }
}

// True if this process copies the data itself, so that the result is in the buffer when the call returns. False for
// long data, because hashing it takes longer than getting it.
bool has_result(rma::Window& window, const Call& call) {
  constexpr Count kMost = 16384;
  const rma::Member& member = window.member(static_cast<int>(call.number("target_rank")));
  std::vector<Range> ranges;
  const bool is_short = target_ranges(call, &ranges) && ranges.back().end - ranges.front().begin <= kMost;
  return is_short && member.base != nullptr && member.device == nullptr && window.where_.is_host();
}

void note_begun(Call& call) {
  auto& all = own<OneSided>();
  auto* const window = call.object<rma::Window>("win");
  if (all.alike != nullptr) {
    const auto before = operations().find(all.alike);
    if (before != operations().end() && window != nullptr && has_result(*window, call))
      remember(before->second.buffers, true);
    call.buffers.clear();
    all.alike = nullptr;
    return;
  }
  if (call.find("request") != nullptr) {
    const void* const request = call.find("request")->values()[0];
    const auto at = operations().find(request);
    if (at == operations().end() || window == nullptr) return;
    pending_of(call).requests.insert(request);
    if (has_result(*window, call)) remember(at->second.buffers, true);
    return watch_written(at->second);
  }
  if (call.buffers.empty() || window == nullptr) return;
  Operation operation;
  operation.request = make_number();
  operation.call_site = call.call_site();
  operation.window = window->context();
  operation.target = static_cast<int>(call.number("target_rank"));
  operation.buffers = std::move(call.buffers);
  call.buffers.clear();
  if (has_result(*window, call)) remember(operation.buffers, true);
  Pending& pending = pending_of(call);
  pending.requests.insert(operation.request);
  if (operation.buffers.size() == 1) pending.alike[likeness_of(call)] = operation.request;
  note_in_use(operation);
  watch_written(operation);
  const void* const number = operation.request;
  operations().emplace(number, std::move(operation));
}

// Watches receives that have started, and stops watching operations that are complete.
void follow_requests(const Call& call) {
  for (const Operation& operation : call.completed) {
    unwatch_buffer(operation.request);
    const auto pending = own<OneSided>().pending.find({operation.window, operation.target});
    if (operation.window != 0 && pending != own<OneSided>().pending.end())
      pending->second.requests.erase(operation.request);
  }
  if (call.is("MPI_Request_free")) {
    for (const void* const handle : call.before) unwatch_buffer(handle);
  }
  if (!call.is("MPI_Irecv")) return;
  const auto at = operations().find(call.find("request")->values()[0]);
  if (at != operations().end() && at->second.active) watch_written(at->second);
}

Status after(Call& call, int code) {
  auto& all = own<OneSided>();
  if (code == 0 && access_of(call)) note_begun(call);
  all.alike = nullptr;
  if (code == 0) follow_requests(call);
  if (all.found.empty()) return kOk;
  const std::vector<Found> found = std::exchange(all.found, {});
  for (std::size_t i = 1; i < found.size(); ++i) report("%s", found[i].text.c_str());
  if (rma::Window* const window = window_of(found[0].context)) call.where = window;
  if (call.ended_context != 0) call.where = nullptr;  // nonzero if the call freed the window
  return fail(Errc::kBuffer, "%s", found[0].text.c_str());
}

// Adds the memory that the operation uses, if any.
void add(std::vector<Buffer>& buffers, const Call& call, const char* name, const char* count, const char* type_name,
         bool written) {
  const void* const address = call.address(name);
  auto* const type = call.object<layout::Datatype>(type_name);
  const Count elements = count == nullptr ? 1 : call.number(count);
  if (address == nullptr || type == nullptr || !type->committed() || elements <= 0 || type->size() == 0) return;
  buffers.push_back({name, address, elements, Ref<layout::Datatype>::share(type), written, false, 0});
}

}  // namespace

std::vector<Buffer> local_buffers_of(const Call& call) {
  std::vector<Buffer> buffers;
  const auto access = access_of(call);
  const auto* const window = call.object<rma::Window>("win");
  const auto rank = static_cast<int>(call.number("target_rank"));
  if (!access || window == nullptr || rank < 0 || rank >= window->size() || window->epoch_ == rma::Epoch::kNone)
    return buffers;
  const bool one = call.find("origin_count") == nullptr;
  const char* const type = one ? "datatype" : "origin_datatype";
  const char* const count = one ? nullptr : "origin_count";
  if (access->kind != AccessKind::kFetch)
    add(buffers, call, "origin_addr", count, type, access->kind == AccessKind::kGet);
  if (call.find("compare_addr") != nullptr) add(buffers, call, "compare_addr", nullptr, type, false);
  if (call.find("result_addr") != nullptr)
    add(buffers, call, "result_addr", one ? nullptr : "result_count", one ? type : "result_datatype", true);
  return buffers;
}

extern const Diagnostic kOneSided;
const Diagnostic kOneSided{"buffer", nullptr, nullptr, before, after, nullptr};

}  // namespace hr::check
