#include "check/buffers.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "check/describe_collective.hpp"
#include "check/diagnostic.hpp"
#include "check/enqueued.hpp"
#include "check/match.hpp"
#include "check/ranges.hpp"
#include "check/state.hpp"
#include "check/watch.hpp"
#include "coll/execute.hpp"
#include "comm/failure.hpp"
#include "layout/view.hpp"
#include "p2p/request.hpp"

namespace hr::check {
namespace {

Region region(const Buffer& buffer) {
  return {reinterpret_cast<std::uintptr_t>(buffer.address), *buffer.type, buffer.count};
}

std::uint64_t stir(std::uint64_t hash, std::uint64_t word) noexcept {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

// Hashes memory. Computes several sums in parallel, with operations that the CPU has for vectors. A change of one word
// always changes the result, because each step is reversible.
std::uint64_t mix(std::uint64_t hash, const std::byte* data, std::size_t bytes) {
  constexpr std::size_t kLanes = 8;
  std::uint64_t lanes[kLanes];
  for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = hash + lane;
  for (; bytes >= sizeof lanes; data += sizeof lanes, bytes -= sizeof lanes) {
    std::uint64_t words[kLanes];
    std::memcpy(words, data, sizeof words);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      lanes[lane] += words[lane];
      lanes[lane] ^= lanes[lane] << 13;
    }
  }
  for (const std::uint64_t lane : lanes) hash = stir(hash, lane);
  for (; bytes >= 8; data += 8, bytes -= 8) {
    std::uint64_t word;
    std::memcpy(&word, data, 8);
    hash = stir(hash, word);
  }
  for (std::size_t i = 0; i < bytes; ++i) hash = stir(hash, static_cast<std::uint64_t>(data[i]));
  return hash;
}

// Hashes the data, also on a device; false if it cannot be read.
bool hash_of(const Buffer& buffer, std::uint64_t* hash) {
  layout::View view;
  bool read = layout::make_view(buffer.address, buffer.count, *buffer.type, &view).ok();
  *hash = view.packed;
  if (read && view.packed != 0 && view.allows_memcpy()) {
    *hash = mix(*hash, view.data(), view.packed);
    return true;
  }
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::vector<std::byte> piece(std::min(kPiece, view.packed));
  for (std::size_t done = 0; read && done < view.packed; done += kPiece) {
    const std::size_t bytes = std::min(kPiece, view.packed - done);
    read = layout::pack(view, done, bytes, piece.data()).ok();
    if (read) *hash = mix(*hash, piece.data(), bytes);
  }
  if (!read) static_cast<void>(take_detail());
  return read;
}

Status in_use(const Buffer& buffer, const Operation& other, const Buffer& of_other, std::uintptr_t at) {
  const std::string call_site = text(other.call_site);
  return fail(Errc::kBuffer,
              "buffer: %s (%p) overlaps, from %p on, the %s buffer of %s, which is not complete; complete that first "
              "(MPI_Wait, MPI_Test; of one-sided operations MPI_Win_flush_local, or the end of the epoch), or use "
              "other memory",
              buffer.name, buffer.address, reinterpret_cast<const void*>(at), of_other.written ? "receive" : "send",
              call_site.c_str());
}

// Ends of the buffers of active operations, keyed by start address, request, and index in the operation. The order by
// address saves a call from checking all operations.
struct Spans {
  std::map<std::tuple<std::uintptr_t, const void*, std::size_t>, std::uintptr_t> ends;
  std::uintptr_t longest = 0;
};
struct InUse final : FileState {
  Spans read, written;
  std::unordered_map<const Call*, std::vector<const void*>> starting;  // persistent requests, by the call in progress
};

Spans& spans_for(const Buffer& buffer) { return buffer.written ? own<InUse>().written : own<InUse>().read; }

// Returns the operation of a request; null unless the operation is active.
const Operation* active_operation(const void* request) {
  const auto found = operations().find(request);
  return found == operations().end() || !found->second.active ? nullptr : &found->second;
}

Status look_in(Spans& spans, const Buffer& ours, const Operation* itself) {
  const Range span = span_of(region(ours));
  const std::uintptr_t from = span.begin > spans.longest ? span.begin - spans.longest : 0;
  for (auto at = spans.ends.lower_bound({from, nullptr, 0}); at != spans.ends.end();) {
    const auto& [begin, request, index] = at->first;
    if (begin >= span.end) break;
    const Operation* const other = active_operation(request);
    if (other == nullptr || index >= other->buffers.size()) {  // freed before it was complete
      at = spans.ends.erase(at);
      continue;
    }
    const bool apart = (at++)->second <= span.begin || other == itself;
    const std::uintptr_t common = apart ? 0 : overlap(region(ours), region(other->buffers[index]));
    if (common != 0) return in_use(ours, *other, other->buffers[index], common);
  }
  return kOk;
}

Status check_operations(const std::vector<Buffer>& buffers, const Operation* itself) {
  for (const Buffer& ours : buffers) {
    HR_TRY(look_in(own<InUse>().written, ours, itself));
    if (ours.written) HR_TRY(look_in(own<InUse>().read, ours, itself));
  }
  return kOk;
}

Status look_within(const std::vector<Buffer>& buffers) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    for (std::size_t j = i + 1; j < buffers.size(); ++j) {
      if (!buffers[i].written && !buffers[j].written) continue;
      if (overlap(region(buffers[i]), region(buffers[j])) == 0) continue;
      return fail(Errc::kBuffer,
                  "buffer: %s (%p) and %s (%p) of this call overlap; use memory of its own for each, or MPI_IN_PLACE",
                  buffers[i].name, buffers[i].address, buffers[j].name, buffers[j].address);
    }
  }
  return kOk;
}

Status check_against(std::vector<Buffer>& buffers, const Operation* itself) {
  HR_TRY(look_within(buffers));
  return check_operations(buffers, itself);
}

// True for calls after which a stream starts persistent requests.
bool enqueues_starts(const Call& call) { return call.is("MPIX_Startall_enqueue") || call.is("MPIX_Runall_enqueue"); }
bool starts(const Call& call) { return call.is("MPI_Start") || call.is("MPI_Startall") || enqueues_starts(call); }

Status started_twice(const Operation& operation) {
  const std::string call_site = text(operation.call_site);
  return fail(Errc::kRequest,
              "request: the request of %s was started before, and the stream does not wait for that start; call "
              "MPIX_Wait_enqueue first",
              call_site.c_str());
}

// Checks and records persistent operations that start.
Status before_start(Call& call) {
  for (const void* const handle : call.before) {
    const auto found = operations().find(handle);
    if (found == operations().end()) continue;
    Operation& operation = found->second;
    std::vector<const void*>& starting = own<InUse>().starting[&call];
    if (std::ranges::find(starting, handle) != starting.end())
      continue;  // the call refuses a request that stands there twice
    if (operation.active && enqueues_starts(call)) return started_twice(operation);
    if (operation.active) continue;
    HR_TRY(check_against(operation.buffers, &operation));
    HR_TRY(check_enqueued(call, operation.buffers));
    starting.push_back(handle);
    operation.active = true;
    note_in_use(operation);
    if (enqueues_starts(call)) continue;  // the stream may still change the data
    remember(operation.buffers);
    tell_signature(call.call_site(), operation);
  }
  return kOk;
}

bool makes_request(const Call& call) {
  for (const Argument& each : call.arguments()) {
    if (each.use == Argument::Use::kMade && each.kind == ObjectKind::kRequest) return true;
  }
  return false;
}

Status before(Call& call) {
  if (starts(call)) return before_start(call);
  if (is_collective_operation(call)) return kOk;  // check_buffers()
  if (call.find("win") != nullptr) return kOk;    // one_sided.hpp
  call.buffers = buffers_of(call);
  if (call.buffers.empty() || call.function().ends_with("_init")) return kOk;
  HR_TRY(check_against(call.buffers, nullptr));
  HR_TRY(check_enqueued(call, call.buffers));
  if (makes_request(call) && !call.function().ends_with("_enqueue")) remember(call.buffers);
  return kOk;
}

void note_started_in(const Call& call) {
  for (const Argument& each : call.arguments()) {
    if (each.use != Argument::Use::kMade || each.kind != ObjectKind::kRequest || each.amount != 1) continue;
    const auto found = operations().find(each.values()[0]);
    if (found != operations().end() && found->second.active) note_in_use(found->second);
  }
}

// Ends the tracking of buffers of operations that MPI_Request_get_status has reported complete: the buffers belong to
// the program again.
void note_asked(const Call& call) {
  if (!call.function().starts_with("MPI_Request_get_status")) return;
  for (const Argument& argument : call.arguments()) {
    const bool one = argument.use == Argument::Use::kHandle;
    if (argument.kind != ObjectKind::kRequest || (!one && argument.use != Argument::Use::kGiven)) continue;
    const void* const handle = argument.address;
    for (const void* const each :
         one ? std::span<const void* const>(&handle, 1)
             : std::span<const void* const>(argument.values().data(), argument.values().size())) {
      const auto at = operations().find(each);
      const bool complete =
          Arena<p2p::Request>::instance().owns(each) && static_cast<const p2p::Request*>(each)->complete();
      if (at == operations().end() || !complete || at->second.persistent) continue;
      note_free(at->second);
      at->second.buffers.clear();
      unwatch_buffer(each);
    }
  }
}

// The requests of a call that has failed were not started.
void note_starts(const Call& call, int code) {
  const auto starting = own<InUse>().starting.extract(&call);
  if (code == 0 || starting.empty()) return;
  for (const void* const handle : starting.mapped()) {
    const auto found = operations().find(handle);
    if (found == operations().end()) continue;
    const bool by_host = !enqueues_starts(call);
    // MPI_Startall may have started some of them.
    if (by_host && static_cast<const p2p::Request*>(handle)->active()) continue;
    note_free(found->second);
    found->second.active = false;
    if (by_host) take_back_signature(found->second);
  }
}

Status after(Call& call, int code) {
  if (code == 0) note_started_in(call);
  note_starts(call, code);
  if (code == 0) note_asked(call);
  for (const Operation& operation : call.completed) note_free(operation);
  for (const Operation& operation : call.completed) {
    for (const Buffer& buffer : operation.buffers) {
      if (!has_changed(buffer)) continue;
      const std::string call_site = text(operation.call_site);
      if (Object* const comm = comm::communicator_of(operation.context)) call.where = comm;
      return fail(Errc::kBuffer,
                  "buffer: %s (%p) of %s was changed before the operation was complete; change it after MPI_Wait or "
                  "MPI_Test has said so",
                  buffer.name, buffer.address, call_site.c_str());
    }
  }
  return kOk;
}

void add(std::vector<Buffer>& buffers, const char* name, const layout::View& view, bool written) {
  if (view.packed == 0) return;
  auto type = Ref<layout::Datatype>::share(const_cast<layout::Datatype*>(view.type));
  buffers.push_back({name, view.address, view.count, std::move(type), written, false, 0});
}

void add(std::vector<Buffer>& buffers, const char* name, const coll::Call& operation, const coll::Blocks& blocks,
         bool written) {
  using Shape = coll::Blocks::Shape;
  if (blocks.none()) return;
  if (blocks.shape() == Shape::kUniform || blocks.shape() == Shape::kConsecutive)
    return add(buffers, name, blocks.all(), written);
  const int length = coll::length_of(operation, blocks);
  for (int at = 0; at < length; ++at) {
    layout::View view;
    if (blocks.block(at, &view).ok()) {
      add(buffers, name, view, written);
    } else {
      static_cast<void>(take_detail());
    }
  }
}

}  // namespace

Status check_use(std::vector<Buffer>& buffers) { return check_against(buffers, nullptr); }

void remember(std::vector<Buffer>& buffers, bool written) {
  for (Buffer& each : buffers) {
    if (each.written == written) each.hashed = hash_of(each, &each.hash);
  }
}

bool has_changed(const Buffer& buffer) {
  std::uint64_t now = 0;
  return buffer.hashed && hash_of(buffer, &now) && now != buffer.hash;
}

void note_in_use(const Operation& operation) {
  for (std::size_t i = 0; i < operation.buffers.size(); ++i) {
    Spans& spans = spans_for(operation.buffers[i]);
    const Range span = span_of(region(operation.buffers[i]));
    spans.ends[{span.begin, operation.request, i}] = span.end;
    spans.longest = std::max(spans.longest, span.end - span.begin);
  }
}

void note_free(const Operation& operation) {
  for (std::size_t i = 0; i < operation.buffers.size(); ++i) {
    const Buffer& buffer = operation.buffers[i];
    spans_for(buffer).ends.erase({span_of(region(buffer)).begin, operation.request, i});
  }
}

std::uintptr_t first_byte(const Buffer& buffer) { return span_of(region(buffer)).begin; }

bool is_host(const Buffer& buffer) {
  layout::View view;
  const bool fine = layout::make_view(buffer.address, buffer.count, *buffer.type, &view).ok();
  if (!fine) static_cast<void>(take_detail());
  return fine && !view.where.is_device();
}

std::string pointer(const void* address) {
  char text[32];
  std::snprintf(text, sizeof text, "%p", address);
  return text;
}

Status check_buffers(Call& call, const coll::Call& operation) {
  call.buffers.clear();
  using coll::Operation;
  // These operations, if in place, describe the whole vector as the send buffer.
  const bool vector = operation.in_place && (operation.operation == Operation::kReduceScatter ||
                                             operation.operation == Operation::kReduceScatterBlock);
  if (vector) {
    add(call.buffers, "recvbuf", operation, operation.send, true);
    return operation.persistent ? kOk : check_against(call.buffers, nullptr);
  }
  const bool reads_only = operation.operation == Operation::kBcast && operation.is_root();
  add(call.buffers, call.find("sendbuf") != nullptr ? "sendbuf" : "buffer", operation, operation.send, false);
  add(call.buffers, call.find("recvbuf") != nullptr ? "recvbuf" : "buffer", operation, operation.recv, !reads_only);
  if (operation.persistent) return kOk;
  HR_TRY(check_against(call.buffers, nullptr));
  HR_TRY(check_enqueued(call, call.buffers));
  if (!operation.blocking) remember(call.buffers);
  return kOk;
}

extern const Diagnostic kBuffers;
const Diagnostic kBuffers{"buffer", nullptr, nullptr, before, after, nullptr};

}  // namespace hr::check
