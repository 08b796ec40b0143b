// The parts of a channel that all messages use: its lock, its requests, waiting, and messages that wait for space.
#include "p2p/channel.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <mutex>
#include <new>

#include "base/knobs.hpp"
#include "base/lock.hpp"
#include "boot/boot.hpp"
#include "p2p/channel/arrivals.hpp"
#include "p2p/channel_pace.hpp"
#include "p2p/core/steps.hpp"
#include "p2p/counting.hpp"
#include "p2p/process_failure.hpp"
#include "p2p/progress.hpp"

namespace hr::p2p {
namespace {

constexpr std::size_t kBatch = 32;
// Number of fruitless rounds for which a waiting thread keeps the lock.
constexpr int kRoundsWithLock = 4;
constexpr double kSleepSeconds = 500e-6;
constexpr double kEngineSleepSeconds = 50e-6;
// Arrivals on the second transport do not end a sleep.
constexpr double kSleepBesideSecond = 200e-6;
// More rounds than a ring has messages.
constexpr int kMostRoundsToEmpty = 1 << 16;

// Called by a transport under the channel's lock; may wait for the library lock.
void fail_process(int proc, Status why) {
  const LibraryGuard guard;
  mark_failed(proc, why);
}

}  // namespace

int Channel::process_of(const Awaited& awaited) noexcept {
  const Request* const request = awaited.request;
  if (request == nullptr) return channels::process_in(awaited.communicator, awaited.source);
  if (!request->is_receive_) return request->proc_;
  const int source = request->source_ < 0 && request->complete() ? request->completion_.source : request->source_;
  return channels::process_in(request->operation_->user.communicator, source);
}

Channel::Channel(int number) : counts_(counters::take_part()), number_(number) {}

Channel::~Channel() {
  queues_.clear();  // destroying them counts the remaining messages
  counters::give_back(counts_);
  for (Unexpected* each : spare_) Unexpected::destroy_apart(each);
  for (const auto& each : all_) {
    // A free request is not a live object, but the arena expects one.
    each->request->revive(ObjectKind::kRequest);
    Arena<Request>::instance().destroy(each->request);
  }
}

Status Channel::open(transport::Transport& over) {
  const boot::Identity& identity = boot::identity();
  own_ = identity.rank;
  whole_ = &over;
  const auto names = names_of_protocols();
  const auto place_of = [&names](std::string_view name) {
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin()) % names.size();
  };
  local_copy_ = place_of("local_copy");
  single_copy_ = place_of("single_copy");
  stream_ = place_of("stream");
  channel::add_handlers(handlers_.of_kind);
  handlers_.failed = fail_process;
  peers_.resize(static_cast<std::size_t>(identity.size));
  HR_TRY(over.make_channel(number_, handlers_, &transport_));
  ChannelOperation* done = take(false, {}, -1, {});
  if (done == nullptr) return no_memory();
  done->shared = true;
  done->request->finish(Completion{});
  done_ = done->request;
  return kOk;
}

Status Channel::join(transport::Transport& over) {
  HR_TRY(over.make_channel(number_, handlers_, &joined_));
  second_whole_ = &over;
  second_.store(joined_.get(), std::memory_order_release);
  return kOk;
}

void Channel::close() {
  for (const auto* each : {&transport_, &joined_}) {
    if (*each != nullptr) static_cast<void>((*each)->finalize());
  }
}

// --- requests ---

Status Channel::no_memory() {
  return fail(Errc::kNoMem, "no memory for another request (channel %d has %zu)", number_, all_.size());
}

bool Channel::make_operations() {
  const LibraryGuard guard;
  for (std::size_t i = 0; i < kBatch; ++i) {
    Request* request = Arena<Request>::instance().create();
    if (request == nullptr) break;
    ChannelOperation& made = *all_.emplace_back(std::make_unique<ChannelOperation>());
    made.channel = this;
    made.request = request;
    request->operation_ = &made;
    request->poison();
    made.next = std::exchange(free_, &made);
  }
  Request::of_channels_.store(true, std::memory_order_relaxed);
  return free_ != nullptr;
}

void Channel::reset(ChannelOperation& operation) {
  operation.freed = false;
  operation.is_half = false;
  operation.send_half = nullptr;
  operation.buffered = false;
  operation.on_device = false;
  operation.registered = false;
  operation.helped = false;
  operation.unreadable = false;
  operation.read_again = false;
  operation.whole = nullptr;
  operation.parts = 0;
  if (operation.transfer.of != nullptr) operation.transfer = {};
  if (!operation.type) return;
  const LibraryGuard guard;
  operation.type = {};
}

void Channel::finish(ChannelOperation& operation, const Completion& completion) {
  Request& request = *operation.request;
  operation.copy.reset();
  operation.helped = false;
  if (operation.type && !request.persistent()) {
    const LibraryGuard guard;
    operation.type = {};
  }
  ChannelOperation* const whole = std::exchange(operation.whole, nullptr);
  if (operation.send_half != nullptr) {
    request.completion_ = completion;
    request.detail_ = completion.error.ok() ? std::string() : take_detail();
    request.phase_ = Request::Phase::kDone;
    return add_half(operation);
  }
  if (whole == nullptr) {
    request.finish(completion);
    if (operation.freed) give(operation);
    return;
  }
  Request& pair = *whole->request;
  const Status earlier = pair.completion_.error;
  if (request.is_receive_) pair.completion_ = completion;
  if (!earlier.ok()) {
    pair.completion_.error = earlier;
  } else if (!completion.error.ok()) {
    pair.completion_.error = completion.error;
    pair.detail_ = take_detail();
  }
  request.phase_ = Request::Phase::kDone;
  give(operation);
  if (--whole->parts != 0) return;
  set_detail(std::string(pair.detail_));
  pair.finish(Completion(pair.completion_));
  if (whole->freed) give(*whole);
}

void Channel::finish_send(ChannelOperation& operation) { finish(operation, Completion{}); }

void Channel::give_back(Request& request) {
  ChannelOperation& operation = *request.operation_;
  if (operation.shared) return;
  const std::lock_guard<SpinLock> guard(lock_);
  if (!request.active() || request.complete()) return give(operation);
  operation.freed = true;
  operation.plain = false;
  request.persistent_ = false;
}

ChannelOperation* Channel::operation_of(std::uint64_t cookie, int proc, bool is_receive) noexcept {
  auto* request = reinterpret_cast<Request*>(cookie & ((std::uint64_t{1} << kAddressBits) - 1));
  if (!Arena<Request>::instance().owns(request) || request->operation_ == nullptr) return nullptr;
  ChannelOperation* found = request->operation_;
  // A receive that waits only for its send half has ended for the sender of its message.
  const bool ended = request->complete() || request->phase_ == Request::Phase::kDone;
  if (found->channel != this || cookie_of(*found) != cookie || request->is_receive_ != is_receive || ended)
    return nullptr;
  return is_receive || request->proc_ == proc ? found : nullptr;
}

Status Channel::cancel(Request& request) {
  using Phase = Request::Phase;
  const std::lock_guard<SpinLock> guard(lock_);
  ChannelOperation& operation = *request.operation_;
  if (!request.active() || request.complete()) return kOk;
  if (operation.parts != 0 || operation.send_half != nullptr)
    return fail(Errc::kRequest, "a combined send and receive cannot be cancelled");
  Completion cancelled;
  cancelled.cancelled = true;
  if (request.is_receive_) {
    if (request.phase_ != Phase::kPosted) return kOk;
    queues(request.context_)->withdraw(request);
    finish(operation, cancelled);
  } else if (request.phase_ == Phase::kQueued) {
    request.link_.unlink();  // no other process knows the request
    finish(operation, cancelled);
  } else if (request.phase_ == Phase::kWaiting) {
    ask_to_cancel(operation);
  }
  wake_sleepers();  // the thread that waits for the request
  return kOk;
}

void Channel::ask_to_cancel(ChannelOperation& operation) {
  const Request& request = *operation.request;
  const std::uint64_t cookie = cookie_of(operation);
  if (request.proc_ == own_) return arrive_cancel(own_, request.context_, cookie);
  control(request.proc_, channel::plain(channel::Kind::kCancel, 0, cookie, request.context_));
  Peer& to = *peers_[static_cast<std::size_t>(request.proc_)];
  // A connection over a network opens the channel, and stays until all processes have called MPI_Finalize.
  if (!to.whole->reaches(own_)) return;
  if (!std::exchange(to.asked_to_open, true)) channels::ask_to_open(request.proc_, number_);
  unanswered_.push_back({request.proc_, cookie});
  has_unanswered_.store(true, std::memory_order_relaxed);
}

bool Channel::try_end_unanswered() {
  if (!has_unanswered_.load(std::memory_order_relaxed) || !lock_.try_lock()) return false;
  const auto ended = [this](const Unanswered& each) {
    const ChannelOperation* const send = operation_of(each.cookie, each.proc, false);
    return send == nullptr || send->request->phase_ != Request::Phase::kWaiting;
  };
  std::vector<Unanswered> left;
  std::ranges::copy_if(unanswered_, std::back_inserter(left), [this](const Unanswered& each) {
    return peers_[static_cast<std::size_t>(each.proc)]->whole->has_left(each.proc);
  });
  // Everything that these processes have sent can be received now, because they sent it before they left.
  for (int rounds = 0; !left.empty() && rounds < kMostRoundsToEmpty && poll(); ++rounds) {
  }
  std::erase_if(left, ended);
  for (const Unanswered& each : left) arrive_cancelled(each.proc, each.cookie);
  std::erase_if(unanswered_, ended);
  has_unanswered_.store(!unanswered_.empty(), std::memory_order_relaxed);
  if (!left.empty()) wake_sleepers();
  lock_.unlock();
  return !left.empty();
}

Status Channel::copy_to_start(ChannelOperation& operation) {
  if (operation.on_device || (!operation.type && !operation.buffered)) return kOk;
  operation.copy.reset(new (std::nothrow) std::byte[operation.bytes + 1]);
  if (operation.copy == nullptr)
    return fail(Errc::kNoMem, "no memory for a copy of the %zu bytes of a persistent send", operation.bytes);
  if (!operation.type) {
    if (operation.bytes != 0) std::memcpy(operation.copy.get(), operation.data, operation.bytes);
    return kOk;
  }
  const LibraryGuard guard;
  operation.data = operation.copy.get();
  return layout::pack(operation.view, 0, operation.bytes, operation.data);
}

// Leaves the request inactive after an error.
Status Channel::start(Request& request) {
  ChannelOperation& operation = *request.operation_;
  const std::lock_guard<SpinLock> guard(lock_);
  Queues& here = *queues(request.context_);
  if (here.look_first()) [[unlikely]]
    HR_TRY(here.ended());
  Peer* to = nullptr;
  ChannelOperation* apart = nullptr;
  if (!request.is_receive_) {
    HR_TRY(peer(request.proc_, &to));
    HR_TRY(copy_to_start(operation));
    if (operation.buffered) {
      apart = take(false, {request.context_, request.source_, request.tag_}, request.proc_, ChannelUser{});
      if (apart == nullptr) return no_memory();
    }
  }
  request.begin();
  request.completion_ = {};
  request.active_ = true;
  if (request.is_receive_) {
    begin_receive(operation, here);
    end_rest(request);
    return kOk;
  }
  if (apart == nullptr) {
    begin_send(*to, operation);
    end_rest(request);
    return kOk;
  }
  apart->plain = false;
  apart->copy = std::move(operation.copy);
  apart->data = apart->copy.get();
  apart->bytes = operation.bytes;
  apart->freed = true;
  begin_send(*to, *apart);
  finish(operation, Completion{});
  return kOk;
}

// --- rounds and waits ---

bool Channel::flush_busy() {
  bool moved = false;
  for (std::size_t i = 0; i < busy_.size();) {
    Peer& to = *busy_[i];
    moved |= flush(to);
    if (!to.controls.empty() || !to.queued.empty() || !to.streams.empty()) {
      ++i;
      continue;
    }
    to.busy = false;
    to.eager_below = to.connected ? to.eager_bytes + 1 : 0;
    busy_[i] = busy_.back();
    busy_.pop_back();
  }
  return moved;
}

bool Channel::poll() {
  channel::set_delivering(this);
  bool moved = transport_->progress();
  if (transport::Transport* const second = second_.load(std::memory_order_acquire); second != nullptr) [[unlikely]]
    moved |= second->progress();
  if (!busy_.empty()) [[unlikely]]
    moved |= flush_busy();
  if (!by_engine_.empty()) [[unlikely]]
    moved |= end_engine_moves();
  if (!halves_.empty()) [[unlikely]]
    moved |= end_halves();
  if (moved) {
    moves_.store(moves_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    wake_sleepers();
  }
  return moved;
}

bool Channel::try_round(bool helps) {
  if (!lock_.try_lock()) return false;
  helps_ = helps;
  const bool moved = poll();
  helps_ = true;
  lock_.unlock();
  return moved;
}

bool Channel::has_unsent() noexcept {
  const std::lock_guard<SpinLock> guard(lock_);
  if (!busy_.empty() || !by_engine_.empty()) return true;
  return std::any_of(all_.begin(), all_.end(), [this](const auto& each) {
    const Request& request = *each->request;
    const bool no_handle = each->freed || each->is_half;
    const bool sends = !request.is_receive_ && request.phase_ == Request::Phase::kWaiting && no_handle;
    const bool waits = (sends || (request.is_receive_ && each->helped)) && !request.complete();
    return waits && request.proc_ != own_ &&
           !peers_[static_cast<std::size_t>(request.proc_)]->whole->has_left(request.proc_);
  });
}

unsigned Channel::round() {
  static_cast<void>(try_round());
  if (any_by_engine_.load(std::memory_order_relaxed)) [[unlikely]]
    static_cast<void>(channels::progress_engine());
  if (any_halves_.load(std::memory_order_relaxed)) [[unlikely]]
    static_cast<void>(channels::progress_others());
  return moves();
}

template <class Done>
void Channel::wait_for(const Awaited& awaited, Done&& done) {
  using Step = channels::Pace::Step;
  channels::Pace pace;
  Step last = Step::kSpin;
  while (!done()) {
    bool moved = false;
    for (int i = 0; i < kRoundsWithLock && !moved; ++i) moved = poll();
    if (done()) break;
    transport::Transport* const second = second_.load(std::memory_order_relaxed);
    const Step step = pace.next(moves(), second != nullptr || !whole_->reaches(own_));
    const unsigned rounds = pace.rounds();
    if (pace.becomes_long()) pace.begin_long(process_of(awaited));
    // The engine's copies ring no doorbell.
    const bool engine = !by_engine_.empty();
    const bool halves = !halves_.empty();  // the channels of the sends ring other doorbells
    const auto armed = step == Step::kSleep && busy_.empty() && !engine ? transport_->arm() : std::nullopt;
    const bool naps = step == Step::kSleep && pace.loaded();
    if (armed) ++sleepers_;
    lock_.unlock();
    if (engine && channels::progress_engine()) pace.begin_anew();
    if (armed) {
      const double least = second == nullptr ? kSleepSeconds : kSleepBesideSecond;
      transport_->sleep(*armed, halves ? least : std::max(least, pace.sleep_seconds()));
    } else if (naps) {
      channels::nap(engine || halves ? kEngineSleepSeconds : pace.sleep_seconds());
    } else if (step != Step::kSpin) {
      channels::yield_core();
    } else {
      spin_pause();
    }
    pace.look_at_others(step);
    lock_.lock();
    if (armed) --sleepers_;
    if (step == Step::kSpin) continue;
    if (std::exchange(last, step) == Step::kSpin) count(Statistic::waits_spun, rounds * kRoundsWithLock);
    count(armed || naps ? Statistic::waits_slept : Statistic::waits_yielded);
  }
  if (pace.is_long()) pace.end_long(process_of(awaited));
}

void Channel::complete_now(Request& request) {
  wait_for({&request, nullptr, -1}, [&request] { return request.complete(); });
}

void Channel::wait(Request& request) {
  if (request.complete() || !request.active()) return;
  const std::lock_guard<SpinLock> guard(lock_);
  wait_for({&request, nullptr, -1}, [&request] { return request.complete(); });
}

bool Channel::wait_all(Request* const* requests, int count) {
  const std::lock_guard<SpinLock> guard(lock_);
  bool all_ok = true;
  for (int i = 0; i < count; ++i) {
    Request& request = *requests[i];
    if (!request.complete()) complete_now(request);
    all_ok = all_ok && request.completion_.error.ok();
  }
  for (int i = 0; i < count && all_ok; ++i) give(*requests[i]->operation_);
  return all_ok;
}

Status Channel::probe(const Envelope& wanted, bool waits, Object* communicator, bool* found, Completion* completion,
                      Unexpected** taken) {
  const std::lock_guard<SpinLock> guard(lock_);
  Queues& here = *queues(wanted.context);
  Unexpected* message = here.find(wanted);
  if (message == nullptr) {
    poll();
    message = here.find(wanted);
  }
  if (message == nullptr && waits)
    wait_for({nullptr, communicator, wanted.source}, [&] {
      return (message = here.find(wanted)) != nullptr || !here.ended().ok() ||
             (failures_ != 0 && !can_arrive(communicator, wanted.source).ok());
    });
  *found = message != nullptr;
  if (message == nullptr) {
    HR_TRY(here.ended());
    return failures_ != 0 ? can_arrive(communicator, wanted.source) : Status(kOk);
  }
  *completion = {};
  completion->source = message->envelope.source;
  completion->tag = message->envelope.tag;
  completion->bytes = message->bytes;
  if (taken == nullptr) return kOk;
  here.take(*message);
  *taken = message;
  return kOk;
}

bool Channel::may_have_pending(std::uint32_t context) {
  if (!lock_.try_lock()) return true;
  const bool found = std::any_of(all_.begin(), all_.end(), [context](const auto& each) {
    const Request& request = *each->request;
    return request.is(ObjectKind::kRequest) && request.context_ == context && request.active() && !request.complete();
  });
  lock_.unlock();
  return found;
}

bool Channel::try_end(std::uint32_t context, Status why) {
  if (!lock_.try_lock()) return false;
  const std::string text = take_detail();
  Queues& here = *queues(context);
  here.end(why, text);
  here.look_for_failures();
  std::vector<Request*> ended;
  here.for_each_posted([&ended](Request& receive) { ended.push_back(&receive); });
  for (Request* receive : ended) {
    here.withdraw(*receive);
    Completion completion;
    completion.error = why;
    set_detail(std::string(text));
    finish(*receive->operation_, completion);
  }
  // The receiver of a send that has left may be reading the data. So the send ends only once the receiver has dropped
  // the message or, if a receive has matched it, has the data.
  for (const auto& each : all_) {
    using Phase = Request::Phase;
    Request& request = *each->request;
    const bool open = request.is_receive_ ? request.phase_ == Phase::kMoving
                                          : request.phase_ == Phase::kQueued || request.phase_ == Phase::kWaiting;
    if (request.context_ != context || !open || request.complete()) continue;
    if (request.is_receive_ && each->transfer.active) continue;  // the transport is writing the data
    if (each->by_engine != nullptr) continue;                    // the engine is
    if (each->helped) continue;                                  // the sender is, and will say so
    if (request.phase_ == Phase::kWaiting) {
      if (!each->transfer.why.ok()) continue;
      each->transfer.of = each.get();
      each->transfer.why = why;
      each->transfer.text = text;
      ask_to_cancel(*each);
      continue;
    }
    if (request.phase_ == Phase::kQueued) request.link_.unlink();
    Completion completion;
    completion.error = why;
    set_detail(std::string(text));
    finish(*each, completion);
  }
  wake_sleepers();
  lock_.unlock();
  return true;
}

}  // namespace hr::p2p
