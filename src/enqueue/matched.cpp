#include "enqueue/matched.hpp"

#include <algorithm>
#include <deque>
#include <memory>

#include "base/statistics.hpp"
#include "comm/failure.hpp"
#include "enqueue/matched_allreduce.hpp"
#include "enqueue/matched_long.hpp"
#include "enqueue/paired.hpp"
#include "matched_look_arguments.hpp"
#include "mem/independent.hpp"
#include "p2p/process_failure.hpp"

namespace hr::enqueue {
namespace {

using mem::device::Context;
using mem::device::Current;
using mem::device::StreamOperation;

// The requests of one call, grouped by kind, so that the driver gets the work of several pairs at once.
class Kinds {
 public:
  // Memory of one call, kept for the next calls of the thread. See base/status.cpp for why only the pointer is
  // thread-local.
  static Kinds& of_call() {
    static thread_local const auto kinds = std::make_unique<Kinds>();
    kinds->clear();
    return *kinds;
  }
  void add(Matched& one) {
    switch (one.kind_) {
      case Matched::Kind::kSend:
        return sends_.push_back(static_cast<Paired*>(&one));
      case Matched::Kind::kReceive:
        return receives_.push_back(static_cast<Paired*>(&one));
      case Matched::Kind::kAllreduce:
        return allreduces_.push_back(static_cast<MatchedAllreduce*>(&one));
      case Matched::Kind::kLong:
        return longs_.push_back(static_cast<MatchedLong*>(&one));
    }
  }
  // Kernels of a start and of a wait.
  std::span<const Launch> starts() {
    for (MatchedLong* const each : longs_) launches_.push_back(each->start());
    for (MatchedAllreduce* const each : allreduces_) launches_.push_back(each->start());
    add_moves(sends_, &moves_, &launches_);
    return launches_;
  }
  std::span<const Launch> ends() {
    add_moves(receives_, &moves_, &launches_);
    for (MatchedAllreduce* const each : allreduces_) launches_.push_back(each->end());
    for (MatchedLong* const each : longs_) launches_.push_back(each->end());
    return launches_;
  }

  // True if one kernel can start all requests and wait for them. There must be either only messages or a single
  // collective operation: a kernel that waits for one operation would delay the start of the next, and another rank's
  // wait for the first may depend on that start.
  [[nodiscard]] bool fit_one_kernel() const {
    const std::size_t messages = sends_.size() + receives_.size();
    if (allreduces_.size() + longs_.size() + (messages != 0 ? 1 : 0) != 1) return false;
    if (!allreduces_.empty()) return allreduces_[0]->end_.lines != 0;
    const auto waits = [](const Paired* each) { return each->move_.way != kernels::kPairedReady; };
    return messages <= kernels::kPairedMoves && std::ranges::all_of(sends_, waits) &&
           std::ranges::all_of(receives_, waits);
  }
  std::span<const Launch> both() {
    for (MatchedLong* const each : longs_) launches_.push_back(each->both());
    for (MatchedAllreduce* const each : allreduces_) launches_.push_back(each->both());
    sends_.insert(sends_.end(), receives_.begin(), receives_.end());
    add_moves(sends_, &moves_, &launches_);
    return launches_;
  }

 private:
  void clear() {
    sends_.clear();
    receives_.clear();
    allreduces_.clear();
    longs_.clear();
    moves_.clear();
    launches_.clear();
  }

  std::vector<Paired*> sends_, receives_;
  std::vector<MatchedAllreduce*> allreduces_;
  std::vector<MatchedLong*> longs_;
  std::deque<kernels::PairedMoves> moves_;
  std::vector<Launch> launches_;
};

// Waits for words in device memory, and the kernel that checks some of the words first.
struct Waits {
  void add(const Matched& one) {
    std::vector<mem::device::DeviceAddress> words;
    one.add_words(&words);
    if (words.empty()) return;
    // Device kernels write these words, after their data, so no flush is needed.
    for (const auto each : words)
      operations.push_back({StreamOperation::kWait, each, 1, mem::device::kWaitAtLeast, 0, 0});
    if (one.look_ == nullptr) return;
    kernel_ = one.look_;
    for (const auto each : words) {
      if (what_.count < kernels::kMatchedLookWords) what_.words[what_.count++] = each;
    }
  }
  std::span<const Launch> look() {
    if (kernel_ == nullptr) return {};
    launch_ = {kernel_, 1, kernels::kMatchedLookThreads, &what_};
    return {&launch_, 1};
  }
  std::vector<StreamOperation> operations;

 private:
  mem::device::FunctionHandle kernel_ = nullptr;
  kernels::MatchedLook what_{};
  Launch launch_;
};

// Returns kOk, or the reason why the other processes will no longer take part.
Status can_complete(const Matched& matched) {
  if (comm::is_revoked(*matched.comm_)) return comm::revoked_error();
  const auto failed = std::ranges::find_if(matched.procs_, [](int proc) { return p2p::has_failed(proc); });
  return failed == matched.procs_.end() ? kOk : p2p::failure_error(*failed);
}

void note_error(const Matched& matched, Status status, Attached& attached) {
  // Calls on a revoked communicator report the revocation themselves.
  if (status.ok() || status == Errc::kRevoked) return;
  attached.note_error(status, "an enqueued " + matched.text() + " failed: " + take_detail());
}

// A start in an earlier capture does not count: that capture has ended, perhaps without a graph.
Status check_start(const Matched& matched, const Attached& attached, CaptureId capture) {
  const Context* const context = attached.stream_->device_.context();
  if (context == nullptr || context->handle() != matched.context_) {
    return fail(Errc::kRequest, "the %s was matched for memory of another context than that of the stream",
                matched.text().c_str());
  }
  if (matched.started_ && (matched.capture_ == 0 || matched.capture_ == capture)) {
    return fail(Errc::kRequest, "the %s was started again before it was over: let the stream wait for it",
                matched.text().c_str());
  }
  return kOk;
}

Status write_releases(const mem::Location& words, std::span<const Matched::Release> all) {
  const mem::IndependentScope scope;
  mem::Location where = words;
  where.independent = true;
  Context* context = nullptr;
  HR_TRY(Context::of(where, &context));
  const Current current(*context);
  HR_TRY(current.status());
  for (const Matched::Release& each : all) {
    HR_DEVICE(context->device(), stream_write_value, (context->stream(), each.word, each.value, 0),
              "releasing a stream");
  }
  return kOk;
}

// True if the stream has no work left that uses the buffers. A stream whose communicators are freed has been waited
// for, and may have been destroyed.
bool is_done_with(const OpenBuffers& buffers) {
  const auto has_communicator = [](const Ref<Stream>& stream) {
    return std::ranges::any_of(state->communicators, [&](const Attached* each) {
      return each->stream_.get() == stream.get() && !each->freed_;
    });
  };
  if (std::ranges::any_of(buffers.graphs, has_communicator)) return false;
  if (!buffers.stream || !has_communicator(buffers.stream)) return true;
  auto capture = mem::device::ProgramStream::Capture::kNone;
  const mem::device::ProgramStream& stream = buffers.stream->device_;
  return stream.context() == nullptr ||
         (stream.capture(&capture).ok() && capture == mem::device::ProgramStream::Capture::kNone && stream.idle());
}

// Makes waits on the host fail, because they would find the request complete too early.
void refuse_wait_of_host(p2p::Request& request, const Matched& matched) {
  p2p::Completion refused;
  refused.error =
      fail(Errc::kRequest, "the %s was matched for streams (MPIX_Matchall): only MPIX_Wait_enqueue can wait for it",
           matched.text().c_str());
  request.finish(refused);
  request.active_ = true;
}

}  // namespace

Matched::Matched(const Match& match) : comm_(Ref<comm::Communicator>::share(match.comm)), where_(match.where) {
  for (const Side& each : match.sides) procs_.push_back(each.proc);
  state->matched.push_back(this);
}

Matched::~Matched() {
  if (state != nullptr) std::erase(state->matched, this);
}

Status Matched::start(p2p::Request& /*request*/) {
  return fail(
      Errc::kRequest,
      "the %s was matched for streams (MPIX_Matchall): only MPIX_Startall_enqueue and MPIX_Runall_enqueue can start it",
      text().c_str());
}

Status Matched::release() {
  released_ = true;
  const std::vector<Release> all = releases();
  return write_releases(where_, all);
}

bool map_operand(Context& device, int proc, const Operand& operand, std::vector<mem::device::Mapping*>* mappings,
                 std::uint64_t* address) {
  mem::device::Mapping* mapping = nullptr;
  if (!mem::device::map_import(device, proc, operand.memory, &mapping).ok()) return false;
  mappings->push_back(mapping);
  *address = operand.address - operand.memory.base + mem::device::base_of(*mapping);
  return true;
}

void OpenBuffers::close() noexcept {
  for (mem::device::Mapping* const each : mappings) mem::device::unpin(each);
  mappings.clear();
}

void close_buffers(OpenBuffers buffers) {
  if (buffers.mappings.empty()) return;
  state->open_buffers.push_back(std::move(buffers));
  close_idle_buffers();
}

void close_idle_buffers() {
  std::erase_if(state->open_buffers, [](OpenBuffers& each) {
    if (!is_done_with(each)) return false;
    // A later launch of a graph then finds nothing to do.
    const Matched::Release end[] = {{each.released, 1}};
    if (!each.graphs.empty() && !write_releases(each.where, end).ok()) static_cast<void>(take_detail());
    each.close();
    return true;
  });
}

Matched* matched_of(const p2p::Request& request) { return dynamic_cast<Matched*>(request.state_.get()); }

Status start_matched(std::span<p2p::Request* const> requests, Attached& attached, CaptureId capture, bool* waited) {
  const bool captured = capture != 0;
  Kinds& kinds = Kinds::of_call();
  for (p2p::Request* const each : requests) {
    Matched& matched = *matched_of(*each);
    HR_TRY(check_start(matched, attached, capture));
    kinds.add(matched);
  }
  // The stream may execute even the work of a launch that fails, so the buffers stay open until the stream is idle.
  for (p2p::Request* const each : requests) {
    Matched& matched = *matched_of(*each);
    matched.stream_ = attached.stream_;
    const auto is_this = [&](const Ref<Stream>& stream) { return stream.get() == attached.stream_.get(); };
    if (captured && std::ranges::none_of(matched.graphs_, is_this)) matched.graphs_.push_back(attached.stream_);
  }
  const bool together = waited != nullptr && kinds.fit_one_kernel();
  HR_TRY(append_work(*attached.stream_, {}, {}, together ? kinds.both() : kinds.starts()));
  if (waited != nullptr) *waited = together;
  add(Statistic::enqueued_by_streams, requests.size());
  for (p2p::Request* const each : requests) {
    Matched& matched = *matched_of(*each);
    matched.started_ = !together;
    matched.capture_ = capture;
    if (matched.released_) note_error(matched, can_complete(matched), attached);
    // The other processes' buffers must stay open until the stream has done the work, even in a graph.
    if (!captured || matched.kind_ == Matched::Kind::kLong) attached.matched_ = true;
    if (!captured && !together) refuse_wait_of_host(*each, matched);
  }
  return kOk;
}

Status wait_matched(Stream& stream, std::span<Waiting* const> all) {
  Kinds& kinds = Kinds::of_call();
  Waits waits;
  for (Waiting* const each : all) {
    Matched& matched = *matched_of(*each->request);
    kinds.add(matched);
    waits.add(matched);
  }
  HR_TRY(append_work(stream, waits.look(), waits.operations, kinds.ends()));
  for (Waiting* const each : all) {
    Matched& matched = *matched_of(*each->request);
    matched.started_ = false;
    each->request->active_ = false;
    each->done = true;
    if (each->sink.report != nullptr) each->sink.report(each->sink.status, matched.result_);
  }
  return kOk;
}

void look_after_matched() {
  const bool more_failed = state->failed_seen != p2p::failed_processes().size();
  state->failed_seen = p2p::failed_processes().size();
  for (Matched* const one : state->matched) {
    if (one->released_ || (!more_failed && !comm::is_revoked(*one->comm_))) continue;
    const Status status = can_complete(*one);
    if (status.ok()) continue;
    std::string why = take_detail();
    if (!one->release().ok()) static_cast<void>(take_detail());
    for (Attached* const each : state->communicators) {
      if (each->stream_.get() != one->stream_.get()) continue;
      set_detail(why);
      note_error(*one, status, *each);
    }
  }
}

}  // namespace hr::enqueue
