#include "enqueue/paired.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/statistics.hpp"
#include "boot/boot.hpp"
#include "comm/communicator.hpp"
#include "mem/device/device_links.hpp"
#include "mem/independent.hpp"
#include "p2p/partitioned.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"

namespace hr::enqueue {
namespace {

using mem::device::Context;
using mem::device::Current;
using mem::device::DeviceAddress;
using mem::device::ProgramStream;
using mem::device::StreamOperation;

constexpr const char* kKernel = "hr_paired";
// Longer messages gain less from it than the second copy costs.
constexpr std::size_t kMostBytes = std::size_t{32} << 10;
constexpr std::size_t kMemoryBytes = std::size_t{1} << 20;
constexpr std::size_t kMostMemories = 64;
constexpr std::size_t kWordBytes = 256;
// Beside comm::ContextUse, for the messages of match_all().
constexpr std::uint32_t kMatchContext = comm::kSurvivorsContext + 1;
// Tags with one more bit, which says in which direction the matched message goes.
constexpr int kMostTag = 1 << 30;

std::size_t slot_bytes(std::uint64_t bytes) { return (bytes + kWordBytes - 1) / kWordBytes * kWordBytes; }

// One side of a match, for the other.
struct Card {
  std::uint64_t able = 0;
  std::uint64_t locality = 0;  // of the memory's device
  std::uint64_t bytes = 0;
  std::uint64_t address = 0;  // of the words
  mem::device::Export memory;
};

// A persistent message that is being matched.
struct Match {
  p2p::Request* request = nullptr;
  comm::Communicator* comm = nullptr;
  int proc = -1;
  int rank = -1;  // at the other end
  mem::Location where;
  Card own, other;
};

bool is_message(const p2p::Request& request) {
  return request.persistent() && request.view_.type != nullptr && request.communicator_ != nullptr &&
         request.context_ == static_cast<comm::Communicator*>(request.communicator_)->context() &&
         paired_of(request) == nullptr && !p2p::is_partitioned(request);
}

// True for a receive, and for a send whose completion says nothing about its receive and that uses no buffer of the
// program.
bool is_plain(const p2p::Request& request) {
  return !request.synchronous_ &&
         std::strcmp(request.state_->what(), request.is_receive_ ? "persistent receive" : "persistent send") == 0;
}

// Takes memory for the words and, of a receiver, for the slots, and sets the words to their first values.
Status take_memory(Match& match) {
  const bool receives = match.request->is_receive_;
  const std::size_t bytes = kWordBytes + (receives ? kernels::kPairedSlots * slot_bytes(match.own.bytes) : 0);
  PairedMemory* found = nullptr;
  for (const auto& each : state->paired_memory) {
    if (each->used + bytes <= kMemoryBytes && each->buffer.serves(match.where)) found = each.get();
  }
  if (found == nullptr) {
    if (state->paired_memory.size() >= kMostMemories) return fail(Errc::kNoMem, "too many matched requests");
    auto made = std::make_unique<PairedMemory>();
    HR_TRY(made->buffer.allocate(match.where, kMemoryBytes));
    found = made.get();
    state->paired_memory.push_back(std::move(made));
  }
  HR_TRY(found->buffer.export_to(match.proc, &match.own.memory));
  match.own.address = found->buffer.address() + found->used;
  found->used += bytes;
  const kernels::PairedWords first{receives ? 0 : kernels::kPairedSlots, 0};
  mem::Location where;
  auto* const words = reinterpret_cast<void*>(static_cast<std::uintptr_t>(match.own.address));
  HR_TRY(mem::classify(words, &where));
  where.independent = true;
  return mem::copy(words, where, &first, {}, sizeof first);
}

// Looks whether this side can do it.
void prepare(Match& match) {
  const layout::View& view = match.request->view_;
  match.where = view.where;
  match.own.bytes = view.packed;
  if (!view.contiguous || !view.where.is_device() || view.where.managed || view.where.context == nullptr ||
      view.packed == 0 || view.packed > kMostBytes || !is_plain(*match.request) ||
      !mem::device::exports_to(match.proc, view.where))
    return;
  Context* context = nullptr;
  mem::device::FunctionHandle kernel = nullptr;
  bool able = Context::of(view.where, &context).ok();
  if (able) {
    const Current current(*context);
    able =
        current.status().ok() && context->kernel(kKernel, &kernel).ok() && kernel != nullptr && take_memory(match).ok();
  }
  if (!able) static_cast<void>(take_detail());
  match.own.able = able ? 1 : 0;
  if (able) match.own.locality = context->locality();
}

// Exchanges cards with the other ends, one for each match.
Status exchange(std::vector<Match>& matches) {
  std::vector<p2p::Request*> pending;
  Status result = kOk;
  for (Match& each : matches) {
    const p2p::Request& request = *each.request;
    const std::uint32_t context = each.comm->context() + kMatchContext;
    const int out = request.tag_ * 2 + (request.is_receive_ ? 1 : 0);
    const int in = request.tag_ * 2 + (request.is_receive_ ? 0 : 1);
    p2p::Request* made[2] = {};
    Status status =
        p2p::ireceive(layout::bytes_view(&each.other, sizeof each.other), {context, each.rank, in}, &made[0]);
    if (status.ok()) {
      status = p2p::isend(layout::bytes_view(&each.own, sizeof each.own), each.proc, {context, each.comm->rank(), out},
                          p2p::Mode::kStandard, &made[1]);
    }
    for (p2p::Request* const one : made) {
      if (one != nullptr) pending.push_back(one);
    }
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

// Maps the other side's memory, and makes the pair. False if that cannot be done.
bool connect(Match& match, std::unique_ptr<Paired>* made) {
  const bool receives = match.request->is_receive_;
  const std::uint64_t bytes = receives ? match.other.bytes : match.own.bytes;
  if (match.own.able == 0 || match.other.able == 0 || bytes > (receives ? match.own.bytes : match.other.bytes))
    return false;
  Context* context = nullptr;
  mem::device::Mapping* mapping = nullptr;
  mem::device::FunctionHandle kernel = nullptr;
  if (!Context::of(match.where, &context).ok()) return false;
  const Current current(*context);
  if (!current.status().ok() || !mem::device::has_atomics(*context, match.other.locality) ||
      !context->kernel(kKernel, &kernel).ok() || kernel == nullptr ||
      !mem::device::map_import(*context, match.proc, match.other.memory, &mapping).ok())
    return false;
  state->paired_mappings.push_back(mapping);
  auto pair = std::make_unique<Paired>(*match.request, match.proc);
  const auto data = reinterpret_cast<std::uintptr_t>(match.request->view_.data());
  kernels::PairedMove& move = pair->move_;
  move.own = match.own.address;
  move.other = match.other.address - match.other.memory.base + mem::device::base_of(*mapping);
  move.bytes = bytes;
  move.from = receives ? move.own + kWordBytes : data;
  move.to = receives ? data : move.other + kWordBytes;
  (receives ? move.from_step : move.to_step) = slot_bytes(receives ? match.own.bytes : match.other.bytes);
  pair->where_ = match.where;
  pair->context_ = context->handle();
  pair->kernel_ = kernel;
  pair->rank_ = match.rank;
  if (receives) {
    pair->result_.source = match.rank;
    pair->result_.tag = match.request->tag_;
    pair->result_.bytes = bytes;
  }
  *made = std::move(pair);
  return true;
}

void note_failure(const Paired& pair, Attached& attached) {
  const Status status = p2p::failure_error(pair.proc_);
  attached.note_error(status, "an enqueued " + pair.text() + " failed: " + take_detail());
}

// Gives the device the waits and the moves of several pairs.
Status append(Stream& stream, std::span<Paired* const> pairs) {
  std::vector<StreamOperation> waits;
  kernels::PairedMoves moves{};
  while (!pairs.empty()) {
    const std::size_t count = std::min<std::size_t>(pairs.size(), kernels::kPairedMoves);
    waits.clear();
    for (std::size_t i = 0; i < count; ++i) {
      moves.each[i] = pairs[i]->move_;
      waits.push_back(stream.device_.wait(pairs[i]->move_.own + offsetof(kernels::PairedWords, ready), 1));
    }
    HR_TRY(append_and_launch(stream, waits, pairs[0]->kernel_, static_cast<unsigned>(count), kernels::kPairedThreads,
                             &moves));
    pairs = pairs.subspan(count);
  }
  return kOk;
}

}  // namespace

Paired::Paired(const p2p::Request& request, int proc)
    : is_receive_(request.is_receive_), proc_(proc), rank_(-1), tag_(request.tag_) {
  state->pairs.push_back(this);
}

Paired::~Paired() {
  if (state != nullptr) std::erase(state->pairs, this);
}

std::string Paired::text() const {
  return std::string(what()) + (is_receive_ ? " from rank " : " to rank ") + std::to_string(rank_) + " with tag " +
         std::to_string(tag_);
}

Status Paired::start(p2p::Request& /*request*/) {
  return fail(Errc::kRequest, "the %s was matched for streams (MPIX_Matchall): only MPIX_Startall_enqueue can start it",
              text().c_str());
}

Status Paired::release() {
  released_ = true;
  const mem::IndependentScope scope;
  mem::Location where = where_;
  where.independent = true;
  Context* context = nullptr;
  HR_TRY(Context::of(where, &context));
  const Current current(*context);
  HR_TRY(current.status());
  HR_DEVICE(context->device(), stream_write_value,
            (context->stream(), move_.own + offsetof(kernels::PairedWords, ready), 2 * kernels::kPairedReleased, 0),
            "releasing a stream");
  return kOk;
}

Paired* paired_of(const p2p::Request& request) { return dynamic_cast<Paired*>(request.state_.get()); }

Status match_all(std::span<p2p::Request* const> requests) {
  std::vector<Match> matches;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    p2p::Request& request = *requests[i];
    if (!is_message(request) || request.active()) continue;
    Match match;
    match.request = &request;
    match.comm = static_cast<comm::Communicator*>(request.communicator_);
    if (request.is_receive_ && (request.source_ == abi::kAnySource || request.tag_ == abi::kAnyTag)) {
      return fail(Errc::kRequest,
                  "array_of_requests[%zu] is a receive from any source or with any tag: only a receive that names both "
                  "can be matched before it is started",
                  i);
    }
    if (request.tag_ >= kMostTag) continue;
    match.proc = request.is_receive_ ? match.comm->peer_proc(request.source_) : request.proc_;
    if (match.proc == boot::processes().self() || !p2p::shares_memory(match.proc)) continue;
    match.rank = request.source_;
    if (!request.is_receive_) {
      match.rank = 0;
      while (match.comm->peer_proc(match.rank) != match.proc) ++match.rank;
    }
    matches.push_back(match);
  }
  p2p::poll();
  if (matches.empty()) return kOk;
  for (Match& each : matches) prepare(each);
  HR_TRY(exchange(matches));
  // Both sides do it, or none does.
  std::vector<std::unique_ptr<Paired>> made(matches.size());
  for (std::size_t i = 0; i < matches.size(); ++i) {
    const bool connected = connect(matches[i], &made[i]);
    if (!connected) static_cast<void>(take_detail());
    matches[i].own.able = connected ? 1 : 0;
  }
  HR_TRY(exchange(matches));
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (made[i] == nullptr || matches[i].other.able == 0) continue;
    made[i]->before_ = std::exchange(matches[i].request->state_, nullptr);
    matches[i].request->state_ = std::move(made[i]);
  }
  if (!state->pairs.empty()) watch();
  return kOk;
}

Status start_paired(std::span<p2p::Request* const> requests, Attached& attached, bool captured) {
  std::vector<Paired*> sends;
  for (p2p::Request* const each : requests) {
    Paired& pair = *paired_of(*each);
    if (attached.stream_->device_.context() == nullptr ||
        attached.stream_->device_.context()->handle() != pair.context_) {
      return fail(Errc::kRequest, "the %s was matched for memory of another context than that of the stream",
                  pair.text().c_str());
    }
    if (pair.started_) {
      return fail(Errc::kRequest, "the %s was started again before it was over: let the stream wait for it",
                  pair.text().c_str());
    }
    if (!pair.is_receive_) sends.push_back(&pair);
  }
  if (!sends.empty()) HR_TRY(append(*attached.stream_, sends));
  add(Statistic::enqueued_by_streams, requests.size());
  for (p2p::Request* const each : requests) {
    Paired& pair = *paired_of(*each);
    pair.stream_ = attached.stream_;
    pair.started_ = true;
    pair.captured_ = captured;
    if (pair.released_) note_failure(pair, attached);
    if (captured) continue;
    attached.paired_ = true;
    // A wait of the host would find it complete too early.
    p2p::Completion refused;
    refused.error =
        fail(Errc::kRequest, "the %s was matched for streams (MPIX_Matchall): only MPIX_Wait_enqueue can wait for it",
             pair.text().c_str());
    each->finish(refused);
    each->active_ = true;
  }
  return kOk;
}

Status wait_paired(Stream& stream, std::span<Waiting* const> all) {
  std::vector<Paired*> receives;
  for (Waiting* const each : all) {
    Paired* const pair = paired_of(*each->request);
    if (pair->is_receive_) receives.push_back(pair);
  }
  HR_TRY(append(stream, receives));
  for (Waiting* const each : all) {
    Paired& pair = *paired_of(*each->request);
    pair.started_ = false;
    each->request->active_ = false;
    each->done = true;
    if (each->sink.report != nullptr) each->sink.report(each->sink.status, pair.result_);
  }
  return kOk;
}

void look_after_pairs() {
  const std::size_t failed = p2p::failed_processes().size();
  if (failed == state->failed_seen) return;
  state->failed_seen = failed;
  for (Paired* const pair : state->pairs) {
    if (pair->released_ || !p2p::has_failed(pair->proc_)) continue;
    if (!pair->release().ok()) static_cast<void>(take_detail());
    for (Attached* const each : state->communicators) {
      if (each->stream_.get() == pair->stream_.get()) note_failure(*pair, *each);
    }
  }
}

}  // namespace hr::enqueue
