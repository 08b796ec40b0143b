// Starts and completes enqueued operations, in rounds of progress. The thread that makes progress is started with the
// first communicator that has a stream (p2p/progress_thread.hpp), so the program need not call MPI.
#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/statistics.hpp"
#include "enqueue/matched.hpp"
#include "enqueue/operation.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"
#include "p2p/progress_thread.hpp"
#include "p2p/wait/resident_copy_scope.hpp"

namespace hr::enqueue {
namespace {

using p2p::progress_thread::Attention;

// Time after the last operation during which the thread keeps polling for the next launch of a graph.
constexpr double kAwakeSeconds = 0.1;

void begin_one(const OperationPointer& operation) {
  operation->running_ = true;
  operation->rounds_ = 0;
  if (operation->captured()) add(Statistic::enqueued_pending);
  if (operation->captured()) operation->alive_ = Ref<comm::Communicator>::share(operation->comm_);
  if (watcher != nullptr) watcher->begins(operation.get());
  const Status status = operation->start(&operation->inner_);
  if (watcher != nullptr) watcher->began(operation.get(), operation->inner_);
  operation->place_.set_begun();
  if (!status.ok()) {
    p2p::Completion completion;
    completion.error = status;
    finish(operation, completion, take_detail());
  } else {
    state->running.push_back(operation);
  }
}

void begin(const OperationPointer& first) {
  if (first->captured()) first->place_.expect_again();
  begin_one(first);
  for (const OperationPointer& each : first->others_) begin_one(each);
}

// The words of a group are reset together, so none of its operations may be running.
bool is_idle(const Operation& first) {
  return !first.running_ &&
         std::ranges::none_of(first.others_, [](const OperationPointer& each) { return each->running_; });
}

bool begin_reached() {
  bool moved = false;
  auto& streams = state->streams;
  for (std::size_t i = 0; i < streams.size();) {
    Stream& stream = *streams[i];
    while (!stream.queue_.empty() && stream.queue_.front()->place_.reached()) {
      const OperationPointer first = std::move(stream.queue_.front());
      stream.queue_.pop_front();
      begin(first);
      moved = true;
    }
    if (stream.queue_.empty()) {
      streams.erase(streams.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return moved;
}

bool begin_launched() {
  bool moved = false;
  for (std::size_t i = 0; i < state->communicators.size(); ++i) {
    Attached& attached = *state->communicators[i];
    const auto alive = Ref<comm::Communicator>::share(&attached.comm_);  // an operation may hold the last reference
    for (std::size_t k = 0; k < attached.captured_.size(); ++k) {
      const OperationPointer first = attached.captured_[k];
      if (!first->place_.reached() || !is_idle(*first)) continue;
      begin(first);
      moved = true;
    }
  }
  return moved;
}

// Lets a stream continue if a graph was launched after the communicator of its operations was freed. The operations do
// nothing.
void end_orphans() {
  for (const OperationPointer& first : state->orphans) {
    if (!first->place_.reached()) continue;
    log::write(log::Level::kError,
               "a graph was launched after the communicator of its operations was freed: they did nothing");
    first->place_.expect_again();
    first->place_.set_begun();
    first->place_.set_done();
    for (const OperationPointer& each : first->others_) {
      each->place_.set_begun();
      each->place_.set_done();
    }
  }
}

// Acts once, when the operation has not ended within two rounds: its message has not arrived yet.
void expect_copy(Operation& operation) {
  constexpr unsigned kRounds = 2;
  if (operation.rounds_ > kRounds) return;
  if (++operation.rounds_ > kRounds) p2p::expect_resident_copy(*operation.inner_);
}

bool complete_running() {
  bool moved = false;
  auto& running = state->running;
  for (std::size_t i = 0; i < running.size();) {
    p2p::Request& inner = *running[i]->inner_;
    if (!inner.complete()) {
      expect_copy(*running[i]);
      ++i;
      continue;
    }
    const OperationPointer operation = std::exchange(running[i], running.back());
    running.pop_back();
    finish(operation, inner.completion_, inner.detail());
    moved = true;
  }
  return moved;
}

void attend(bool moved) {
  const bool busy = !state->running.empty() || !state->streams.empty();
  const bool graphs = state->captured != 0 || !state->matched.empty();
  const bool listens = graphs || !state->orphans.empty();
  if (moved || busy) state->last_active = now_seconds();
  state->frees.set(busy || graphs);
  if (busy) return p2p::progress_thread::attend(Attention::kAwake);
  if (listens) {
    const bool recent = now_seconds() - state->last_active < kAwakeSeconds;
    return p2p::progress_thread::attend(recent ? Attention::kAwake : Attention::kPolling);
  }
  p2p::progress_thread::attend(Attention::kNone);
}

// Starting an operation may itself make progress; the other operations then wait for the outer round.
bool advance(void* /*unused*/) {
  if (state->advancing) return false;
  state->advancing = true;
  bool moved = begin_reached();
  if (state->captured != 0) moved |= begin_launched();
  moved |= complete_running();
  if (!state->orphans.empty()) end_orphans();
  look_after_matched();
  report_waits();
  state->advancing = false;
  attend(moved);
  if (state->running.empty() && state->streams.empty() && state->captured == 0 && state->matched.empty() &&
      state->orphans.empty()) {
    p2p::remove_hook(advance, nullptr);
    state->hooked = false;
  }
  return moved;
}

}  // namespace

void finish(const OperationPointer& operation, const p2p::Completion& completion, std::string why) {
  const Ref<comm::Communicator> comm = operation->alive_;
  auto& attached = static_cast<Attached&>(*comm->stream_);
  p2p::Completion result = completion;
  if (watcher != nullptr) {
    const Status mistake = watcher->ends(operation.get());
    if (!mistake.ok()) attached.note_error(mistake, take_detail());
  }
  if (!result.error.ok()) {
    // Streams do not wait for another sender.
    if (result.error == Errc::kProcFailedPending) result.error = Errc::kProcFailed;
    attached.note_error(result.error, "an enqueued " + operation->what() + " failed: " + why);
  }
  operation->drop(std::exchange(operation->inner_, nullptr));
  if (operation->sink_.report != nullptr) operation->sink_.report(operation->sink_.status, result);
  if (p2p::Request* const outer = std::exchange(operation->outer_, nullptr); outer != nullptr) {
    if (!result.error.ok()) set_detail(std::move(why));
    outer->finish(result);
    p2p::release_request(outer);
  }
  operation->running_ = false;
  subtract(Statistic::enqueued_pending);
  add(Statistic::enqueued_done);
  operation->place_.set_done();
  operation->alive_ = {};
  if (operation->captured()) return;
  operation->done_ = true;
  operation->comm_ = nullptr;
  operation->stream_->words_->give_back(operation->place_);
  --attached.unfinished_;
}

void watch() {
  state->last_active = now_seconds();
  state->frees.set(true);
  if (!state->hooked) p2p::add_hook(advance, nullptr);
  state->hooked = true;
  p2p::progress_thread::attend(Attention::kAwake);
}

State::State() = default;
State::~State() {
  for (mem::device::Mapping* const each : matched_mappings) mem::device::unpin(each);
  for (OpenBuffers& each : open_buffers) each.close();
  for (Matched* const each : matched) each->close_buffers();
}

void init() { state = std::make_unique<State>(); }

void finalize() {
  if (state == nullptr) return;
  if (state->hooked) p2p::remove_hook(advance, nullptr);
  p2p::progress_thread::attend(Attention::kNone);
  const auto ending = state.take();
  ending->frees.set(false);
}

}  // namespace hr::enqueue
