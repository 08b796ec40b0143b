// Channel: point-to-point messages of some communicators, independently of all others (docs/adr/0048-channels.md).
//
// Channel 0 is the engine under the library lock. Every other channel has its own matchers, rings, requests and lock,
// so that threads which use different channels share nothing that changes. All messages of one context use the channel
// that comm/ maps it to, the same in all members.
// Endpoints are created when this process first uses the channel: in at(), and for the first message to each process.
//
// Order and matching are those of p2p.hpp: one context has one matcher, and all messages of a pair use one path. Short
// messages are sent eagerly. For longer and synchronous ones the receiver reads the data from the sender's memory, and
// the sender helps with the longest (shared_copy.cpp); where the system does not permit that, the sender streams it.
// Between hosts, the transport moves it (Transport::send_rts()). Data that is not contiguous host memory is packed into
// a copy, under the library lock.
//
// Device memory: all messages of a context match on its channel, whatever memory they come from and go to. If a send
// from a device has matched, or a long one to a device on this host, the receiver posts a receive with a unique tag on
// a context of the engine, and tells the sender, which sends the data there (engine_data.cpp). A short message from
// host memory to a device is unpacked like data that is not contiguous.
//
// A channel has a transport of its own for the processes of this host, and another one for those of other hosts once a
// communicator over several hosts uses it. Several channels over one network need a transport that makes them
// (Transport::make_channel()); today only the transport over TCP does.
//
// Failures: the engine learns of failed processes (process_failure.hpp), and each round of channel 0 passes them on to
// the channels. Every operation that depends on a failed process then ends, also a receive from any source: jobs that
// continue after failures use no channels.
//
// End: a process leaves MPI without waiting for others of its host, and a send that is being cancelled ends when its
// receiver has left (Transport::has_left()). Between hosts, channels stay open until all processes of the job have
// called MPI_Finalize.
//
// Progress: a wait polls its channel, and occasionally all others (channel 0 under its lock, which it only tries to
// take). Channel 0 polls the others in a hook; a progress thread that finds nothing to do rests between its rounds
// (progress_thread.hpp). A sleeping thread is woken by its channel's doorbell, which a thread of this process rings as
// well if it completes what another one waits for: by a message to this process itself, or by MPI_Cancel. It checks the
// other channels at the end of each short sleep.
//
// Owner: p2p/, from the first at() to close(). Threads: all member functions take the channel's lock themselves.
// Order of locks: a thread that holds a channel's lock may wait for the library lock; one that holds the library lock,
// or another channel's, only tries to take a channel's. Callers must not hold the library lock
// (LibraryLock::suspend()). Memory order: a request's completion flag is released by the completing thread and acquired
// by Request::complete(); everything else is ordered by the locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/counter_parts.hpp"
#include "base/list.hpp"
#include "base/short_copy.hpp"
#include "base/spin_lock.hpp"
#include "base/statistics.hpp"
#include "layout/view.hpp"
#include "p2p/match/matching.hpp"
#include "p2p/p2p.hpp"
#include "p2p/progress_thread.hpp"
#include "p2p/request.hpp"
#include "transport/transport.hpp"

namespace hr::p2p {

class Channel;

namespace channels {
// Wakes a progress thread that rests. Threads: any.
void end_rest();
}  // namespace channels

// Data of a message. `view`: its description if it is not contiguous host memory that the driver does not know, else
// null.
struct ChannelBuffer {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  const layout::View* view = nullptr;
};

// The communicator of an operation, and its count of operations in progress, which the channel's lock guards; other
// threads may read the count.
struct ChannelUser {
  Object* communicator = nullptr;
  std::atomic<std::uint32_t>* operations = nullptr;
};

// Payload of the message by which a receiver asks the sender for help.
struct ChannelShare {
  std::uint64_t address;  // of the receiver's buffer
  std::uint64_t bytes;    // to copy in all
  std::uint64_t generation;
};

// State of a channel's request. Owner: the channel, which keeps it with the request for the next operation.
struct ChannelOperation {
  Channel* channel = nullptr;
  Request* request = nullptr;
  std::byte* data = nullptr;  // contiguous data: the program's, or `copy`
  std::size_t bytes = 0;      // size of a receive's buffer, length of a send
  std::unique_ptr<std::byte[]> copy;
  layout::View view;           // description of data that must be unpacked, or packed again; valid if `type` is set
  Ref<layout::Datatype> type;  // kept alive until the end (library lock)
  std::size_t moved = 0;       // bytes of a streamed message moved so far
  std::size_t total = 0;       // bytes to move in all
  std::size_t announced = 0;   // length of the message, for a receive that is helped
  std::uint64_t receiver = 0;  // cookie of the receiver's request, for a streamed send
  std::uint64_t address = 0;   // address of the sender's data, for a receive that is helped
  ChannelUser user;
  ChannelOperation* whole = nullptr;  // the pair that contains this operation
  Request* send_half = nullptr;       // receive: a send on another channel that the request also stands for
  int parts = 0;                      // number of operations of a pair that are in progress
  bool shared = false;                // true for the request that all immediately complete sends share
  bool plain = false;                 // true for a receive into contiguous memory whose completion needs to be recorded
                                      // only in its request
  bool freed = false;                 // true if the program no longer has a handle
  bool is_half = false;               // send: another request stands for it, and the program has no handle
  bool buffered = false;              // true for a persistent buffered send, which sends a copy on each start
  bool on_device = false;             // true if the data is `view` in device memory, and there is no copy of it
  bool registered = false;            // true for host memory that the driver knows
  bool eager = false;                 // send: begins as a message that needs no answer
  bool helped = false;                // receive: the sender has been told where it may write
  bool unreadable = false;            // receive: a part of the sender's data could not be read
  bool read_again = false;            // send: the receiver reads again after its first kDone
  Request* by_engine = nullptr;       // the engine's request that moves the data; not null while it is in by_engine_
  std::uint16_t uses = 0;             // number of times that the request has been given back; part of its cookie
  ChannelOperation* next = nullptr;   // next in the list of free operations

  // The transport moves the data (Transport::send_rts()), and refers to the operation while `active`.
  struct Transfer : transport::Operation {
    ChannelOperation* of = nullptr;
    transport::Sink sink;
    bool active = false;
    bool cancelled = false;  // the receiver has not matched the message, and declines the data
    Status why;              // the error with which an unmatched send ends, if its context has ended
    std::string text;        // of that error
  };
  Transfer transfer;
};

class Channel {
 public:
  explicit Channel(int number);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  // Both create the channel's transport to the processes that `over` reaches. join(): adds a second one; any thread may
  // use the channel meanwhile. Threads: library lock.
  Status open(transport::Transport& over);
  Status join(transport::Transport& over);
  [[nodiscard]] bool is_over(const transport::Transport& transport) const noexcept {
    return whole_ == &transport || second_whole_ == &transport;
  }

  [[nodiscard]] int number() const noexcept { return number_; }

  // --- Functions as in p2p.hpp. Errors of an operation are in its completion ---
  Status send(const ChannelBuffer& data, int proc, const Envelope& envelope, Mode mode);
  Status isend(const ChannelBuffer& data, int proc, const Envelope& envelope, Mode mode, const ChannelUser& user,
               Request** out);
  // Sends a copy; complete for the caller on return.
  Status send_copy(const ChannelBuffer& data, int proc, const Envelope& envelope);
  // Sends a copy, as one half of a call whose other half is a receive on another channel.
  Status isend_copy(const ChannelBuffer& data, int proc, const Envelope& envelope, const ChannelUser& user,
                    Request** out);
  // Makes the request of a receive of this channel, which the program does not have yet, complete only when a send on
  // another channel is complete, too, and end with its error unless the receive has one. Takes the send over.
  void join_send(Request& receive, Request& send);
  Status receive(const ChannelBuffer& data, const Envelope& wanted, Object* communicator, Completion* completion);
  Status ireceive(const ChannelBuffer& data, const Envelope& wanted, const ChannelUser& user, Request** out);
  // Starts a send and a receive as one request, which has the completion of the receive. A send to process -1, or a
  // receive from source MPI_PROC_NULL, is omitted.
  Status pair(const ChannelBuffer& out_data, bool copied, int proc, const Envelope& envelope,
              const ChannelBuffer& in_data, const Envelope& wanted, const ChannelUser& user, Request** out);
  Status init(bool is_receive, const ChannelBuffer& data, int proc, const Envelope& envelope, Mode mode, bool buffered,
              const ChannelUser& user, Request** out);
  Status start(Request& request);
  // Waits for a matching message, or checks for one once. If `taken` is not null, removes the message from the queue.
  Status probe(const Envelope& wanted, bool waits, Object* communicator, bool* found, Completion* completion,
               Unexpected** taken);
  Status imreceive(const ChannelBuffer& data, Unexpected* message, const ChannelUser& user, Request** out);
  Status cancel(Request& request);

  // Waits until the request is complete.
  void wait(Request& request);
  // Waits for each of these requests of this channel and releases it. False, with nothing released, if a completion
  // carries an error.
  [[nodiscard]] bool wait_all(Request* const* requests, int count);
  // Makes a round of progress unless another thread is making one. Returns moves().
  unsigned round();
  // Returns the number of rounds, of any thread, that have moved something.
  [[nodiscard]] unsigned moves() const noexcept { return moves_.load(std::memory_order_relaxed); }
  // Releases the handle of a request. The operation continues if it is not complete.
  void give_back(Request& request);
  // Ends all operations that wait on a context. Called with the library lock: false if the lock of the channel is
  // taken; try again.
  [[nodiscard]] bool try_end(std::uint32_t context, Status why);
  // Ends all operations that depend on failed processes. `failed`: all failed processes; those that the channel knows
  // already come first. Called with the library lock: false if the lock of the channel is taken; try again.
  [[nodiscard]] bool try_fail(std::span<const int> failed);
  // False if all operations that the program has started on the context are complete. Called with the library lock:
  // also true if the lock of the channel is taken; try again.
  [[nodiscard]] bool may_have_pending(std::uint32_t context);
  // Makes a round of progress for other channels; does nothing if the lock is taken. `helps`: the sender of a long
  // message may copy a part of it (shared_copy.cpp).
  bool try_round(bool helps = true);
  // Ends sends whose receivers have left MPI without answering a request to cancel them. Called with the library lock:
  // true if a send has ended; does nothing if the lock of the channel is taken.
  bool try_end_unanswered();
  // True if some messages have not left this process yet, and may still do so: messages that wait for space, or for
  // which the program has no handle. Also true while the sender of a message may write into a buffer of this process.
  [[nodiscard]] bool has_unsent() noexcept;
  void close();

  // --- Called during deliveries, under the channel's lock ---
  void arrive_eager(int from, const Envelope& envelope, const std::byte* data, std::size_t bytes);
  // `data`: data that the transport keeps for this process. Token 0: the receiver reads the data at `address`, or
  // requests it.
  void arrive_rts(int from, const Envelope& envelope, std::size_t bytes, std::uint64_t sender, std::uint64_t address,
                  transport::RendezvousData data);
  void arrive_cts(int from, std::uint64_t sender, std::uint64_t receiver, std::size_t bytes);
  void arrive_data(int from, std::uint64_t receiver, std::size_t offset, const std::byte* data, std::size_t bytes);
  void arrive_done(int from, std::uint64_t sender);
  void arrive_share(int from, std::uint64_t sender, std::uint64_t receiver, const ChannelShare& share);
  void arrive_shared(int from, std::uint64_t receiver, std::size_t bytes, bool failed);
  void arrive_cancel(int from, std::uint32_t context, std::uint64_t sender);
  void arrive_cancelled(int from, std::uint64_t sender);
  // The receiver of a send has posted a receive for its data with this tag (engine_data.cpp).
  void arrive_wanted(int from, std::uint64_t sender, std::uint64_t receiver, int tag);
  // The sender of a matched message cannot send its data.
  void arrive_failed(int from, std::uint64_t receiver);

 private:
  static constexpr unsigned kAddressBits = 48;
  static constexpr std::size_t kSpareBytes = 256;
  static constexpr std::size_t kMostSpare = 64;
  using Queues = MatcherWith<ApartAccounts>;
  struct Control {
    transport::Header header;
    std::byte payload[24];
    std::size_t bytes;
    transport::RendezvousData declined;  // data that is declined after this message
  };
  struct Peer {
    int proc = -1;
    transport::Transport* over = nullptr;   // the channel's transport that reaches it; null until it is connected
    transport::Transport* whole = nullptr;  // the transport from which that one was made
    counters::Amount* sent = nullptr;       // its counts
    std::size_t eager_below = 0;  // messages shorter than this are sent eagerly and immediately; 0 if not connected, or
                                  // if earlier ones are waiting
    std::size_t eager_bytes = 0;
    std::size_t chunk = 0;
    std::size_t most = 0;  // length of the longest message
    transport::Transport* memory = nullptr;
    bool writable = true;     // false after its memory could not be written
    bool rendezvous = false;  // the transport moves long messages
    bool connected = false;
    bool asked_to_open = false;  // it has been asked to open the channel
    bool reported = false;       // a line says that it waits for a message that cannot be sent yet
    bool failed = false;
    bool busy = false;
    std::vector<Control> controls;
    IntrusiveList<Request, &Request::link_> queued;
    IntrusiveList<Request, &Request::link_> streams;
  };

  // A send that its receiver has been asked to drop. The send may have ended since: operation_of() then returns null.
  struct Unanswered {
    int proc;
    std::uint64_t cookie;
  };

  // Null for a number out of range, which only a message can contain.
  Queues* queues(std::uint32_t context) {
    if (context < queues_.size() && queues_[context] != nullptr) [[likely]]
      return queues_[context].get();
    return make_queues(context);
  }
  [[gnu::noinline]] Queues* make_queues(std::uint32_t context);
  Status peer(int proc, Peer** out);
  Status connect(Peer& peer);
  ChannelOperation* take(bool is_receive, const Envelope& envelope, int proc, const ChannelUser& user) {
    if (free_ == nullptr && !make_operations()) [[unlikely]]
      return nullptr;
    ChannelOperation& operation = *std::exchange(free_, free_->next);
    Request& request = *operation.request;
    request.begin();
    request.active_ = true;
    request.persistent_ = false;
    request.is_receive_ = is_receive;
    request.phase_ = Request::Phase::kIdle;
    request.synchronous_ = false;
    request.context_ = envelope.context;
    request.source_ = envelope.source;
    request.tag_ = envelope.tag;
    request.proc_ = proc;
    request.revive(ObjectKind::kRequest);
    operation.user = user;
    if (user.operations != nullptr)
      user.operations->store(user.operations->load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return &operation;
  }
  [[gnu::noinline]] bool make_operations();
  Status no_memory();
  void give(ChannelOperation& operation) {
    operation.request->poison();
    ++operation.uses;
    if (operation.user.operations != nullptr) {
      std::atomic<std::uint32_t>& count = *operation.user.operations;
      count.store(count.load(std::memory_order_relaxed) - 1, std::memory_order_release);
    }
    if (!operation.plain) [[unlikely]]
      reset(operation);
    operation.next = std::exchange(free_, &operation);
  }
  // Restores the fields that take() expects to be unset; only operations that are not plain have changed them.
  [[gnu::noinline]] static void reset(ChannelOperation& operation);
  void finish(ChannelOperation& operation, const Completion& completion);
  void finish_send(ChannelOperation& operation);
  Status describe(ChannelOperation& operation, const ChannelBuffer& data, bool copied) {
    operation.data = data.data;
    operation.bytes = data.bytes;
    operation.plain = operation.request->is_receive_ && data.view == nullptr;
    return data.view == nullptr && !copied ? kOk : describe_slowly(operation, data, copied);
  }
  [[gnu::noinline]] Status describe_slowly(ChannelOperation& operation, const ChannelBuffer& data, bool copied);
  Status describe_view(ChannelOperation& operation, const layout::View& view, bool copied);
  void begin_send(Peer& peer, ChannelOperation& operation);
  bool try_send(Peer& peer, ChannelOperation& operation);
  void begin_receive(ChannelOperation& operation, Queues& here) {
    if (here.look_first()) [[unlikely]]
      return begin_receive_slowly(operation, here);
    operation.request->phase_ = Request::Phase::kPosted;
    here.post(*operation.request);
  }
  [[gnu::noinline]] void begin_receive_slowly(ChannelOperation& operation, Queues& here);
  void take_message(ChannelOperation& operation, Unexpected* message);
  // Create and destroy the record of an unexpected message. Records of short messages are kept for reuse.
  Unexpected* make_unexpected(std::size_t payload_bytes);
  void end_unexpected(Unexpected* message) noexcept;
  // Stores a message of contiguous data where it belongs, and completes the receive.
  void fill(ChannelOperation& operation, const Envelope& envelope, const std::byte* data, std::size_t bytes) {
    if (!operation.plain || bytes > operation.bytes) [[unlikely]]
      return fill_slowly(operation, envelope, data, bytes);
    copy_short(operation.data, data, bytes);
    Request& request = *operation.request;
    request.completion_ = {envelope.source, envelope.tag, bytes, false, kOk};
    request.phase_ = Request::Phase::kDone;
    request.complete_.store(true, std::memory_order_release);
  }
  [[gnu::noinline]] void fill_slowly(ChannelOperation& operation, const Envelope& envelope, const std::byte* data,
                                     std::size_t bytes);
  void fetch(ChannelOperation& operation, int from, const Envelope& envelope, std::size_t bytes, std::uint64_t sender,
             std::uint64_t address, transport::RendezvousData data);
  // Asks the sender to stream the data of a matched message.
  void request_stream(ChannelOperation& operation, std::uint64_t sender);
  // Begins a copy of the first operation.total bytes in which the sender may help.
  void share(ChannelOperation& operation, Peer& from, std::uint64_t sender, std::uint64_t address);
  // Accounts for bytes of a shared copy that either side has claimed.
  void account_for(ChannelOperation& operation, std::size_t bytes);
  Status send_ready(Peer& to, ChannelOperation& operation, const transport::Header& header);
  // Ends a send unless a receive has matched it: as cancelled, or with Transfer::why.
  void ask_to_cancel(ChannelOperation& operation);
  void end_unmatched(ChannelOperation& operation);
  // Copies or packs the data of a persistent send, if necessary.
  Status copy_to_start(ChannelOperation& operation);
  // Receives the first `fits` bytes of data that the transport keeps at the sender.
  void land(ChannelOperation& operation, Peer& from, const Completion& completion, std::size_t fits,
            transport::RendezvousData data);
  static void begin_transfer(ChannelOperation& operation);
  void end_transfer(ChannelOperation& operation);
  void finish_received(ChannelOperation& operation, Completion& completion, std::size_t bytes);
  // Completes a matched receive of a message that this process sends to itself.
  void fill_from(ChannelOperation& send, ChannelOperation& receive, const Envelope& envelope);
  // Receives the data of a matched message through the engine.
  void fetch_by_engine(ChannelOperation& operation, int from, const Envelope& envelope, const Completion& completion,
                       std::uint64_t sender);
  void give_to_engine(ChannelOperation& operation, Request* moving);
  // Completes the operations whose data the engine has moved; true if there are any.
  bool end_engine_moves();
  void end_engine_move(ChannelOperation& operation);
  // Keeps a receive that is complete except for its send half (halves.cpp).
  void add_half(ChannelOperation& receive);
  // Completes such a receive if its send is complete, and the lock of the send's channel is free.
  [[nodiscard]] bool end_half(ChannelOperation& receive);
  bool end_halves();
  // Releases a complete request unless the lock is taken.
  [[nodiscard]] bool try_give_back(Request& complete);
  void control(int proc, const transport::Header& header, const void* payload = nullptr, std::size_t bytes = 0,
               transport::RendezvousData declined = {});
  void mark_busy(Peer& peer);
  // Counterpart of p2p::takes_less() (core/engine.hpp).
  bool takes_less(Peer& to);
  static void limit(Peer& to, const transport::Caps& caps);
  bool flush(Peer& peer);
  bool flush_busy();
  bool poll();
  // Call after an operation or a probe may have become complete outside of poll(): wakes the threads that sleep.
  void wake_sleepers() noexcept {
    if (sleepers_ != 0) [[unlikely]]
      transport_->wake();
  }
  // Call once an operation that the program may leave to a progress thread has begun: wakes the thread if it rests.
  static void end_rest(const Request& begun) {
    if (!begun.complete() && progress_thread::is_resting()) [[unlikely]]
      channels::end_rest();
  }
  // The process on which a wait depends: that of the request, or that behind a source rank in a communicator.
  struct Awaited {
    const Request* request;
    const Object* communicator;
    int source;
  };
  template <class Done>
  void wait_for(const Awaited& awaited, Done&& done);
  static int process_of(const Awaited& awaited) noexcept;
  static const Object* communicator_of(const ChannelOperation& operation) noexcept {
    return operation.whole != nullptr ? operation.whole->user.communicator : operation.user.communicator;
  }
  // Returns kOk, or why no message from this source can arrive any more.
  Status can_arrive(const Object* communicator, int source);
  // Returns kOk, or why an operation cannot complete any more. Threads: library lock as well.
  Status why_ends(const ChannelOperation& operation);
  [[nodiscard]] bool is_failed(int proc) const noexcept;
  bool send_eager(const ChannelBuffer& data, int proc, const Envelope& envelope, Mode mode);
  void count_start(const Peer& to, const ChannelOperation& operation, bool eager) noexcept;
  void count_received(std::size_t protocol, std::size_t bytes) noexcept {
    counters::add_to(counts_.received[protocol], bytes);
  }
  void count(Statistic statistic, std::uint64_t amount = 1) noexcept {
    counters::add_to(counts_.statistics[static_cast<std::size_t>(statistic)], amount);
  }
  void complete_now(Request& request);  // waits, under the lock
  static std::uint64_t cookie_of(const ChannelOperation& operation) noexcept {
    return reinterpret_cast<std::uint64_t>(operation.request) | std::uint64_t{operation.uses} << kAddressBits;
  }
  ChannelOperation* operation_of(std::uint64_t cookie, int proc, bool is_receive) noexcept;

  alignas(64) SpinLock lock_;
  counters::Part& counts_;
  int number_;
  int own_ = -1;
  int sleepers_ = 0;
  std::atomic<unsigned> moves_{0};  // written under the lock
  transport::Transport* whole_ = nullptr;
  transport::Transport* second_whole_ = nullptr;
  transport::Handlers handlers_;
  std::unique_ptr<transport::Transport> transport_;
  std::unique_ptr<transport::Transport> joined_;        // for the processes on other hosts, if transport_ reaches none
  std::atomic<transport::Transport*> second_{nullptr};  // joined_, for threads without the library lock
  std::size_t failures_ = 0;  // number of failed processes that it knows; written under both locks
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<Peer*> busy_;
  std::vector<ChannelOperation*> by_engine_;  // operations whose data the engine moves
  std::atomic<bool> any_by_engine_{false};    // for threads without the lock
  std::vector<ChannelOperation*> halves_;     // receives that wait only for their send halves
  std::atomic<bool> any_halves_{false};       // for threads without the lock
  std::vector<Unanswered> unanswered_;
  std::atomic<bool> has_unanswered_{false};      // for threads without the lock
  std::vector<std::unique_ptr<Queues>> queues_;  // indexed by the number of the context
  std::uint32_t generation_ = 0;                 // of the last shared copy
  bool helps_ = true;                            // false while the caller holds the library lock
  ChannelOperation* free_ = nullptr;
  std::vector<Unexpected*> spare_;  // records of kSpareBytes
  std::vector<std::unique_ptr<ChannelOperation>> all_;
  Request* done_ = nullptr;
  // Indices of protocols in counters::Part::received.
  std::size_t local_copy_ = 0;
  std::size_t single_copy_ = 0;
  std::size_t stream_ = 0;
};

namespace channels {

// Offers channels to the other processes; called once by a process whose threads may all call MPI, before it takes part
// in the creation of a communicator. False if there can be no channels (docs/adr/0048-channels.md). Threads: library
// lock.
bool offer();
// True if this process offers channels, so that threads may make some calls without the library lock. Threads: library
// lock.
[[nodiscard]] bool offered() noexcept;
// Returns the number of channels that the process offers for communicators of processes on this host; 1 if it offers
// none or is on another host. All processes of this host that call this get the same number.
[[nodiscard]] int offered_by(int proc) noexcept;
// Returns the number of channels that this process offers for communicators over several hosts, at least 1. Their
// members agree on the lowest (comm/context.hpp).
[[nodiscard]] int offered_over_hosts() noexcept;
// Returns the channel, opened on first use, with paths to other hosts if `over_hosts`. Ends the job with the reason if
// there is no memory or no descriptor. Threads: library lock.
Channel& at(int number, bool over_hosts);
// Sets the function that asks another process to open a channel: a process answers no messages of a channel that it has
// not opened. Threads: library lock.
void ask_with(void (*ask)(int proc, int number)) noexcept;
// Asks a process to open a channel. Threads: any.
void ask_to_open(int proc, int number);
// Opens the channel for which another process has asked. Threads: library lock.
void open_for(int from, std::uint64_t number, bool over_hosts);
// Ends all operations that wait on a context of this channel, at the latest when the channel's lock is free. Threads:
// library lock.
void end(int number, std::uint32_t context, Status why);
// Sets the function that returns the process behind a source rank in a communicator; -1: none. Threads: any may call it
// while the communicator exists.
void find_members_with(int (*process_in)(const Object& communicator, int source)) noexcept;
// Sets a function that rounds of progress of channel 0 call occasionally. Threads: library lock.
void tidy_with(void (*tidy)());
// Makes a round of channel 0, and of the others, unless another thread has the library lock. True if something moved.
bool progress_others();
// Makes a round of channel 0 unless another thread has the library lock. True if something moved.
bool progress_engine();
// Makes a round of progress on all channels. Threads: library lock.
bool poll();
// Sends the messages that wait for space. The channels stay open, as processes that still send may cancel a message.
// Threads: library lock.
void drain();
// Threads: library lock.
void close();

}  // namespace channels
}  // namespace hr::p2p
