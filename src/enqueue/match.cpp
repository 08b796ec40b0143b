// MPIX_Matchall: the processes exchange descriptions of their persistent requests (Card in matched.hpp), map each
// other's memory, and agree on which requests streams execute.
#include <algorithm>
#include <utility>

#include "base/knobs.hpp"
#include "boot/boot.hpp"
#include "enqueue/matched.hpp"
#include "enqueue/matched_allreduce.hpp"
#include "enqueue/matched_long.hpp"
#include "enqueue/paired.hpp"
#include "mem/device/device_links.hpp"
#include "p2p/progress.hpp"

namespace hr::enqueue {
namespace {

using mem::device::Context;

constexpr std::size_t kMemoryBytes = std::size_t{1} << 20;  // minimum size of a piece
constexpr std::size_t kMostBytes = std::size_t{64} << 20;   // maximum size of all pieces together

// Finds or allocates memory with space for `bytes` more bytes, in the context used for memory at `where`.
Status find_memory(const mem::Location& where, std::size_t bytes, MatchedMemory** found) {
  std::size_t all = 0;
  for (const auto& each : state->matched_memory) {
    *found = each.get();
    if (each->used + bytes <= each->bytes && each->buffer.serves(where)) return kOk;
    all += each->bytes;
  }
  auto made = std::make_unique<MatchedMemory>();
  made->bytes = std::max(bytes, kMemoryBytes);
  if (all + made->bytes > kMostBytes) return fail(Errc::kNoMem, "too many matched requests");
  HR_TRY(made->buffer.allocate(where, made->bytes));
  *found = made.get();
  state->matched_memory.push_back(std::move(made));
  return kOk;
}

using Matches = std::vector<std::unique_ptr<Match>>;

// Sends and receives the cards of one match.
Status begin_exchange(Match& match, std::vector<p2p::Request*>* pending) {
  for (Side& side : match.sides) {
    p2p::Request* made = nullptr;
    HR_TRY(
        p2p::ireceive(layout::bytes_view(&side.other, sizeof side.other), {match.context, side.rank, side.in}, &made));
    pending->push_back(made);
    HR_TRY(p2p::isend(layout::bytes_view(&side.own, sizeof side.own), side.proc,
                      {match.context, match.comm->rank(), side.out}, p2p::Mode::kStandard, &made));
    pending->push_back(made);
  }
  return kOk;
}

// Exchanges cards with the other processes of all matches.
Status exchange(Matches& matches) {
  std::vector<p2p::Request*> pending;
  Status result = kOk;
  for (const auto& each : matches) {
    const Status status = begin_exchange(*each, &pending);
    if (!status.ok() && result.ok()) result = status;
  }
  for (p2p::Request* const each : pending) {
    if (!result.ok()) static_cast<void>(p2p::cancel(*each));
    const Status waited = p2p::wait(*each);
    const Status status = waited.ok() ? each->completion_.error : waited;
    if (!status.ok() && result.ok()) {
      result = status;
      if (waited.ok()) set_detail(each->detail());
    }
    p2p::release_request(each);
  }
  return result;
}

// Returns a match for a collective operation that the streams of its processes, all on this host, may execute; null for
// other requests. The answer is the same on all processes.
std::unique_ptr<Match> match_collective(p2p::Request& request) {
  const coll::Call* const call = coll::call_of(request);
  if (call == nullptr || call->members->is_inter() || call->size() < 2 ||
      call->size() > static_cast<int>(kernels::kMatchedRanks) || call->bytes == 0 ||
      (call->op != nullptr && call->op->kind() == layout::OpKind::kUser))
    return nullptr;
  for (int rank = 0; rank < call->size(); ++rank) {
    const int proc = call->members->peer_proc(rank);
    if (proc != boot::processes().self() && !p2p::shares_memory(proc)) return nullptr;
  }
  std::unique_ptr<Match> made = match_short_allreduce(request, *call);
  return made != nullptr ? std::move(made) : match_long(request, *call);
}

bool all_able(const Match& match) {
  for (const Side& each : match.sides) {
    if (each.own.able == 0 || each.other.able == 0) return false;
  }
  return true;
}

}  // namespace

bool Match::open(const char* kernel, Context** device, mem::device::FunctionHandle* function) const {
  // Streams must be able to wait for words in device memory, which kernels of other processes write.
  if (const mem::device::Driver* const driver = mem::device::find_driver();
      driver == nullptr || driver->word_allocate != nullptr)
    return false;
  if (!Context::of(where, device).ok()) return false;
  const mem::device::Current current(**device);
  return current.status().ok() && (*device)->kernel(kernel, function).ok() && *function != nullptr;
}

void Match::offer_kernel() {
  Attached* const attached = static_cast<Attached*>(comm->stream_.get());
  if (knobs().stream_waits != StreamWaitsChoice::kKernel || attached == nullptr || !attached->may_wait_by_kernels())
    return;
  for (Side& each : sides) each.own.kernel = 1;
}

bool Match::kernel_waits() const {
  return std::ranges::all_of(sides, [](const Side& each) { return each.own.kernel != 0 && each.other.kernel != 0; });
}

Status Match::write_words(std::span<const std::byte> bytes) const {
  auto* const to = reinterpret_cast<void*>(static_cast<std::uintptr_t>(words));
  mem::Location location;
  HR_TRY(mem::classify(to, &location));
  location.independent = true;
  return mem::copy(to, location, bytes.data(), {}, bytes.size());
}

Status Match::take_memory(std::size_t bytes, std::span<const std::byte> first) {
  MatchedMemory* found = nullptr;
  bytes = matched_slot(bytes);
  HR_TRY(find_memory(where, bytes, &found));
  words = found->buffer.address() + found->used;
  for (Side& side : sides) {
    if (side.proc != boot::processes().self()) HR_TRY(found->buffer.export_to(side.proc, &side.own.memory));
    side.own.address = words;
  }
  found->used += bytes;
  // Lines must not contain the number of a message yet.
  std::vector<std::byte> all(offers_kernel() ? bytes : first.size(), std::byte{0});
  std::ranges::copy(first, all.begin());
  return write_words(all);
}

void Match::set_able(const Context& device) {
  for (Side& each : sides) {
    each.own.able = 1;
    each.own.locality = device.locality();
  }
}

bool Match::map(Context& device, const Side& side, std::uint64_t* address) const {
  if (side.proc == boot::processes().self()) {
    *address = side.other.address;
    return true;
  }
  return mem::device::has_atomics(device, side.other.locality) &&
         map_operand(device, side.proc, {side.other.address, side.other.memory}, &state->matched_mappings, address);
}

void Match::set_common(Context& device, bool looks, Matched* made) const {
  made->context_ = device.handle();
  for (const Side& each : sides) looks = looks && each.own.locality != each.other.locality;
  if (looks && !device.kernel("hr_matched_look", &made->look_).ok()) made->look_ = nullptr;
}

Status match_all(std::span<p2p::Request* const> requests) {
  Matches matches;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    p2p::Request& request = *requests[i];
    if (request.active() || request.communicator_ == nullptr || matched_of(request) != nullptr) continue;
    std::unique_ptr<Match> made = match_collective(request);
    if (made == nullptr) HR_TRY(match_message(request, i, &made));
    if (made != nullptr) matches.push_back(std::move(made));
  }
  p2p::poll();
  close_idle_buffers();
  if (matches.empty()) return kOk;
  for (const auto& each : matches) {
    each->prepare();
    static_cast<void>(take_detail());
  }
  HR_TRY(exchange(matches));
  // All sides match the request, or none does.
  std::vector<std::unique_ptr<Matched>> made;
  for (const auto& each : matches) {
    made.push_back(all_able(*each) ? each->connect() : nullptr);
    static_cast<void>(take_detail());
    for (Side& side : each->sides) side.own.able = made.back() != nullptr ? 1 : 0;
  }
  HR_TRY(exchange(matches));
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (!all_able(*matches[i])) continue;
    p2p::Request& request = *matches[i]->request;
    made[i]->before_ = std::exchange(request.state_, nullptr);
    request.state_ = std::move(made[i]);
  }
  if (!state->matched.empty()) watch();
  return kOk;
}

}  // namespace hr::enqueue
