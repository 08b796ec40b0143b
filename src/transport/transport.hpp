// Transport: sends bytes to other processes. self, shm, tcp, ucx and ofi implement this interface; p2p uses nothing
// else.
//
// A transport carries messages: a fixed 24-byte header, of which it reads only the kind, and a payload. Messages from
// one process to another arrive in the order in which they were accepted. progress() passes each to the handler that an
// upper layer has set for its kind; the payload is valid only during the call. A transport never blocks: it returns
// "again" if there is no space.
//
// If its Caps permit, it also reads and writes memory of other processes: a call starts the operation, and its
// Operation shows when it is complete. Memory is exposed once by its owner, which sends the key to the processes that
// need it.
//
// A failed path is reported once per process (Handlers::failed). Operations pending on it end with that error.
//
// Processes of other jobs connect while messages are pending (MPI 5.0 chapter 11): those that share memory get an
// additional transport, created for the two groups; the transport with Record::fills_gaps opens paths to those on other
// hosts.
//
// Owner: the registry owns the transports from init() to finalize(), and a transport created for two groups until all
// of its processes are disconnected. Lifetime of a connection: from the first send to a process until finalize, or
// until it is disconnected. Threads: library lock, unless a function says otherwise.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "boot/processes.hpp"

namespace hr::transport {

// Opaque to transports except for the low bits of its first word, the kind; p2p/core/wire.hpp defines the rest.
struct Header {
  std::uint64_t words[3];
};
static_assert(sizeof(Header) == 24);

inline constexpr std::size_t kKinds = 64;
[[nodiscard]] inline std::size_t kind_of(const Header& header) noexcept { return header.words[0] % kKinds; }

// A shared word on a separate cache line.
struct alignas(64) SharedWord {
  std::atomic<std::uint64_t> value;
};

// A range of another process's memory, and one of the same size in this process.
struct RemotePart {
  std::uint64_t address;
  std::byte* local;  // local memory, which put() does not write
  std::size_t bytes;
};

// Plain bytes with which another process reaches memory that this one has exposed; sent in a message.
struct RemoteKey {
  static constexpr std::size_t kMost = 240;
  std::uint32_t bytes = 0;
  std::byte data[kMost];
};

// A pending get, put or flush. Owner: the caller that started it, until it is complete; it must not move. The transport
// writes it within the starting call or progress().
struct Operation {
  bool complete = false;
  Status status = kOk;
  // Called, if not null, when the operation completes after the starting call has returned; may destroy the operation.
  void (*then)(Operation& self) = nullptr;

  void end(Status with) {
    status = with;
    complete = true;
    if (then != nullptr) then(*this);
  }
};

// Identifies data that another process keeps for this one (Transport::send_rts()); plain bytes, valid in this process.
struct RendezvousData {
  std::uint64_t token = 0;
};

// Data of a rendezvous at the sender, which owns it: plain bytes, in device memory if the transport supports that.
struct Source {
  const std::byte* address;
  std::size_t bytes;
  bool device = false;
};

// Destination of the data of a rendezvous: memory at `address`, or, if set, the function `unpack`, which is called once
// with each piece, in any order. It must accept all of the data, `bytes` bytes. Owner: the receiving side; the Sink
// must live until the operation is complete.
struct Sink {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  bool device = false;  // device memory (Caps::device_rendezvous), nothing is unpacked
  void (*unpack)(Sink& self, std::size_t offset, const std::byte* data, std::size_t bytes) = nullptr;
};

// Called for every message of its kind that has arrived. Must not call progress().
using Handler = void (*)(int from, const Header& header, const std::byte* payload, std::size_t bytes);

using MessageHandlers = std::array<Handler, kKinds>;

// Functions that upper layers set before init(). The object must not move until finalize().
struct Handlers {
  MessageHandlers of_kind{};  // none is null once init() has returned
  // Called when the path to that process has failed, for the reason in `why` and the recorded detail: once per process
  // and transport, within any call of the transport. Later sends to that process only return errors.
  void (*failed)(int proc, Status why) = nullptr;
};

// A modelled time: a fixed part, and a part proportional to the length.
struct Cost {
  double latency_seconds = 0;
  double bytes_per_second = 0;  // 0: not stated, and the length is ignored
  [[nodiscard]] constexpr double seconds(std::size_t bytes) const noexcept {
    return latency_seconds + (bytes_per_second > 0 ? static_cast<double>(bytes) / bytes_per_second : 0);
  }
};

inline constexpr std::size_t kMostInFront = 64;

// Properties on which the choice of a protocol is based; a pure function of (transport, process), but for max_payload,
// chunk_bytes and eager_bytes, which become smaller if there is no memory for longer messages.
struct Caps {
  std::size_t inline_bytes = 0;  // payloads up to this length travel with the header, at the lowest latency
  std::size_t max_payload = 0;   // largest payload of one message
  std::size_t chunk_bytes = 0;   // best size for a piece of a pipelined transfer
  // Largest message worth sending eagerly on this path, with up to kMostInFront bytes of protocol data before it,
  // even if that exceeds max_payload; 0: not stated.
  std::size_t eager_bytes = 0;
  bool rendezvous = false;          // send_rts(), receive_rendezvous() and decline_rendezvous() of host memory
  bool device_rendezvous = false;   // the same for device memory, without waiting for the program's pending work on it
  bool remote_read = false;         // get() of memory that was not exposed may be tried (it may fail)
  bool exposed_memory = false;      // get() and put() of exposed memory, if possible without involving that process
  bool same_node = false;           // both processes run under one operating system
  bool same_address_space = false;  // remote addresses are local ones (self)
  // Cost of messages from and to host memory: an inline one, and a pipelined stream of chunks.
  double latency_seconds = 0;
  double bytes_per_second = 0;
  // Cost of get() and put(); without a bandwidth, the cost of messages applies.
  Cost host_memory{};

  [[nodiscard]] constexpr Cost messages() const noexcept { return {latency_seconds, bytes_per_second}; }
  [[nodiscard]] constexpr Cost memory() const noexcept {
    return host_memory.bytes_per_second > 0 ? host_memory : messages();
  }
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Called after create() in all processes, and after the exchange of the data that it published (boot::put(),
  // boot::node_put()).
  virtual Status open() { return kOk; }
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual bool reaches(int proc) const noexcept = 0;
  [[nodiscard]] virtual Caps caps(int proc) const noexcept = 0;

  // Connects to the process, unless it is connected; called before the first use of the path. Errors name the file or
  // the socket.
  virtual Status connect(int proc) = 0;

  // Returns the interface, or the provider and its device, through which messages go to that process; empty if there is
  // nothing to tell. Connects to the process if the transport does not know before.
  [[nodiscard]] virtual std::string route_to(int /*proc*/) { return ""; }

  // Accepts one message or returns Status::again(). On success header and payload have been copied. On another error
  // either the path has failed, which is also reported, or caps() allow only shorter messages from now on.
  virtual Status send(int proc, const Header& header, const void* payload, std::size_t bytes) = 0;
  // send() in two steps, to build the payload in place (packing directly into the ring): reserve() returns the
  // address at which to write `bytes` bytes, or nullptr for "again", and after caps() have changed; commit() publishes
  // the last reservation for that process.
  virtual std::byte* reserve(int proc, std::size_t bytes) = 0;
  virtual void commit(int proc, const Header& header) = 0;
  // False if that many messages without payload might not be accepted at once. For messages on which a process depends
  // whose peer may not call MPI again for long; asked only of transports with shared_words().
  [[nodiscard]] virtual bool has_space(int /*proc*/, int /*messages*/) noexcept { return true; }

  // Sends a ready-to-send message like send(), and keeps `data` for the other process, whose handler receives a
  // RendezvousData after the payload. That process receives or declines the data, once; then `done` is complete. An
  // error in `done` is that of the path, which Handlers::failed also reports.
  virtual Status send_rts(int /*proc*/, const Header& /*header*/, const void* /*payload*/,
                          std::size_t /*payload_bytes*/, const Source& /*data*/, Operation* /*done*/) {
    return Errc::kUnsupportedOperation;
  }
  // Copies the data to the sink; `done` is complete when all of it has arrived. Errors: those of send_rts(). A path
  // that has failed ends `done`, not this call.
  virtual Status receive_rendezvous(int /*proc*/, RendezvousData /*data*/, Sink* /*into*/, Operation* /*done*/) {
    return Errc::kUnsupportedOperation;
  }
  virtual void decline_rendezvous(int /*proc*/, RendezvousData /*data*/) noexcept {}
  // True if that process keeps this data for this one, and it was neither received nor declined. For checks of
  // messages, which may contain anything.
  [[nodiscard]] virtual bool has_rendezvous(int /*proc*/, RendezvousData /*data*/) const noexcept { return false; }

  // True if that process has left MPI: it receives no more messages, so a message that finds no space now never will;
  // and progress() can deliver everything that it has sent.
  [[nodiscard]] virtual bool has_left(int /*proc*/) const noexcept { return false; }

  // Delivers a bounded number of arrived messages; true if there were any.
  virtual bool progress() = 0;

  // --- memory of others ---
  // True if any process of this job may have Caps::exposed_memory.
  [[nodiscard]] virtual bool may_expose() const noexcept { return false; }
  // Lets other processes access this host memory until withdraw(). Errors: MPI_ERR_UNSUPPORTED_OPERATION,
  // MPI_ERR_NO_MEM.
  virtual Status expose(std::byte* /*address*/, std::size_t /*bytes*/, RemoteKey* /*key*/) {
    return Errc::kUnsupportedOperation;
  }
  virtual void withdraw(const RemoteKey& /*key*/) noexcept {}

  // Copies from memory of that process into this process's, all parts in one operation. `key`: the key to the exposed
  // memory that contains all parts; null: host memory that was not exposed (Caps::remote_read). Errors:
  // MPI_ERR_UNSUPPORTED_OPERATION if the system or the network does not permit it (the caller falls back and does not
  // retry); some of the data may then have been copied. An error in `done` is that of the path, which Handlers::failed
  // also reports. `done`: complete when all of the data has arrived; null: the copy is complete on return, which is
  // possible only for memory without a key. In that case get(), like put(), needs no library lock, and several threads
  // may call it at once.
  virtual Status get(int /*proc*/, const RemoteKey* /*key*/, std::span<const RemotePart> /*parts*/,
                     Operation* /*done*/) {
    return Errc::kUnsupportedOperation;
  }
  // Copies in the other direction. `done`: complete when `local` may be reused; flush() completes once the data has
  // arrived.
  virtual Status put(int /*proc*/, const RemoteKey* /*key*/, std::span<const RemotePart> /*parts*/,
                     Operation* /*done*/) {
    return Errc::kUnsupportedOperation;
  }
  // Completes when all earlier puts into that process's memory have taken effect, visible to all.
  virtual Status flush(int /*proc*/, Operation* done) {
    done->complete = true;
    return kOk;
  }

  // Returns the words of that process, initially zero, which all processes connected to it through shared memory can
  // read and write; their users define their meaning. Every process has the same number of words; empty if there are
  // none.
  virtual std::span<SharedWord> shared_words(int /*proc*/) { return {}; }

  // One bit for each CPU. All bits are set if the CPUs are not known, or if there are further ones.
  using CpuBits = std::array<std::uint64_t, 16>;
  // Tells the other processes on the node to which CPUs this one is confined, with a nonzero number that identifies the
  // set. The result counts processes on the node that have not left MPI, including this one.
  struct CpuSharers {
    int processes = 1;         // they have reported the same number
    bool all_reported = true;  // all have reported a number
    std::uint64_t all = 0;     // changes if a process reports another set, or leaves
  };
  virtual CpuSharers tell_cpus(std::uint64_t /*number*/, const CpuBits& /*cpus*/) noexcept { return {}; }
  // Returns the number of processes on the node that have reported their CPUs and have not left MPI, and the CPUs that
  // they may use together. No processes: the transport does not know.
  struct CpusTogether {
    int processes = 0;
    CpuBits cpus{};
  };
  [[nodiscard]] virtual CpusTogether cpus_together() noexcept { return {}; }

  // Returns the memory in which that process stages data for others, mapped in this process: all processes see the same
  // bytes, and each has equally much of this memory. Empty if there is none. A process that calls this for itself gets
  // memory backed by pages (empty if there are none left, which is logged once); the others may access the memory once
  // a message refers to it.
  virtual std::span<std::byte> staging(int /*proc*/) { return {}; }

  // Let threads sleep. arm() returns nothing if a message has arrived already, otherwise a value for exactly one
  // sleep(), which must follow. After arm(), an arriving message or wake() ends that sleep(), even if it has not begun
  // yet, and whatever other threads do meanwhile. Several threads may sleep at once; sleep() and wake() need no library
  // lock. By default, a transport cannot sleep.
  [[nodiscard]] virtual bool can_sleep() const noexcept { return false; }
  [[nodiscard]] virtual std::optional<std::uint32_t> arm() { return std::nullopt; }
  virtual void sleep(std::uint32_t /*armed*/, double /*at_most_seconds*/) {}
  virtual void wake() noexcept {}  // wakes every thread of this process that sleeps or is armed
  // Returns a descriptor that becomes readable when a message arrives after arm_arrivals() has returned true, for
  // threads that sleep on another transport; -1: there is none. arm_arrivals() returns false if a message has arrived
  // already.
  [[nodiscard]] virtual int arrivals() const noexcept { return -1; }
  [[nodiscard]] virtual bool arm_arrivals() { return false; }

  // --- channels (p2p/channel.hpp) ---
  // Returns the maximum channel number; 0 if there are no channels. It is the same in all processes that offer their
  // numbers through this transport.
  [[nodiscard]] virtual int most_channels() const noexcept { return 0; }
  // Shows the others how many channels this process uses, including channel 0; called once, before this process takes
  // part in the creation of a communicator.
  virtual void offer_channels(int /*number*/) noexcept {}
  // Returns the number of channels that `proc` has offered; 0 if it has not.
  [[nodiscard]] virtual int channels_of(int /*proc*/) const noexcept { return 0; }
  // Creates a transport for messages to the same processes, which arrive at the transport that they have created for
  // the same number, 1 or greater. It may run under another lock, and takes the library lock itself where it needs this
  // transport; its finalize() is called with the library lock. Lifetime: must end before this transport. Errors:
  // MPI_ERR_UNSUPPORTED_OPERATION; MPI_ERR_OTHER if there is no memory, or no descriptor.
  virtual Status make_channel(int /*number*/, const Handlers& /*handlers*/, std::unique_ptr<Transport>* /*out*/) {
    return Errc::kUnsupportedOperation;
  }

  // --- processes of other jobs ---
  // Returns the address at which processes of other jobs reach this one; empty: this transport uses no addresses.
  virtual Status describe(std::string* /*address*/) { return kOk; }
  // Makes that process reachable at the address that its describe() returned.
  virtual Status set_peer_address(int /*proc*/, const std::string& /*address*/) { return Errc::kUnsupportedOperation; }
  // True if this transport was created for the two groups of that name (PeerGroups).
  [[nodiscard]] virtual bool connects(std::string_view /*groups*/) const { return false; }
  // Called if connects(groups) and all processes of both groups have reported that they are connected: a process that
  // is not found has ended.
  virtual void confirm() {}
  // Called if connects(groups) and a process of either group failed to connect, before finalize(): a process that
  // counts the groups as connected learns that this one does not.
  virtual void abandon() {}
  // Ends all communication with these processes, each of which also disconnects from this process, or fails; waits for
  // them if their paths require it. True if none of the processes for which this transport was created is left.
  virtual bool disconnect(std::span<const int> /*procs*/) { return false; }

  // Waits until all accepted messages have left this process (the peer need not have read them).
  virtual Status finalize() = 0;

  // --- paths ---
  // True if send() answers "again" for that process now, and the event after which send() may accept a message ends a
  // sleep(), as an arriving message does.
  [[nodiscard]] virtual bool announces_room(int /*proc*/) const noexcept { return false; }
  // True if the path to that process has failed. The path stays failed until disconnect().
  [[nodiscard]] virtual bool has_lost(int /*proc*/) const noexcept { return false; }
};

// Describes the job for which a transport is created.
struct Job {
  int rank;
  int size;
  const boot::Processes& processes;
  std::string_view job_id;
  bool late = false;  // the job is already running, and its other processes create no transport now
};

// Two sets of processes, possibly of several jobs, that connect; the same sets in all of them.
struct PeerGroups {
  std::string name;                    // unique on a host, safe in file names, and beginning with a job's name
  std::vector<int> ours;               // set that contains this process
  std::vector<int> theirs;             // the other set; disjoint from `ours`
  std::vector<std::string> addresses;  // addresses of `theirs`
  bool first = false;                  // `ours` comes first wherever both sets are numbered
};

// Record of a transport, listed in record_list.cpp.
struct Record {
  const char* name;
  // Creates the transport; nullptr if it has nothing to do in this job (no peer that it could reach). Publishes the
  // data that others need to reach this process. A failure in one process must not keep the others from opening, so
  // open() reports it.
  Status (*create)(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out);
  // True if the transport is created only for processes that no earlier transport reaches.
  bool fills_gaps = false;
  // Creates a transport for the processes of two groups that are on this host; each of them calls this. Null if the
  // transport does not support that.
  Status (*connect_groups)(const Job& job, const Handlers& handlers, const PeerGroups& here,
                           std::unique_ptr<Transport>* out) = nullptr;
  // True if the transport's library can be opened here; null means always. For transports that fill gaps, of which only
  // one is used.
  bool (*can_open)() = nullptr;
  // Returns why this transport suits this host: the network for which it is made, or the setting that only its library
  // heeds ("this host has mlx5_0"); empty: it does not. Null: it always does. For transports that fill gaps, of which
  // the first that suits the host is used.
  std::string (*suits_host)() = nullptr;
};

// Starts the transports; collective over the job. Unset handlers are set to one that drops the message. Errors:
// MPI_ERR_OTHER if HEADRACE_TRANSPORTS names an unknown transport; those of the transports.
Status init(const Job& job, Handlers& handlers);
// True if both processes can access the same memory, over the transport that connect() would choose for messages.
[[nodiscard]] bool shares_memory(int proc) noexcept;

// Transports to another process. All messages use the same one, so that they stay in order; memory may be accessed
// through another.
struct Paths {
  Transport* messages = nullptr;
  Transport* memory = nullptr;  // for host memory that was not exposed; null if no transport reaches it
  Caps caps;                    // caps of `messages`, but with remote_read and host_memory of `memory`
};
// Finds the transports with the lowest stated cost among those that reach the process (of equal costs, the first in the
// list), and connects them. Errors: MPI_ERR_OTHER if none reaches it, naming the process and the transports tried.
Status connect(int proc, Paths* out);

// Returns the transport with the lowest stated cost whose get() and put() reach host memory of that process that was
// not exposed, without connecting it; null: none.
[[nodiscard]] Transport* path_to_memory(int proc) noexcept;
// Returns the transport that exposes memory of this process to others of its job; null: none does.
[[nodiscard]] Transport* exposing() noexcept;

// Returns the address of this process for processes of other jobs on other hosts. If no transport has an address: with
// `make`, creates the transport that fills gaps now; without `make`, the address stays empty.
Status describe(const Job& job, bool make, std::string* address);
// Opens paths to the other group; processes that can be reached already keep theirs. The status is only that of this
// process. active() may return other transports afterwards.
Status connect_groups(const Job& job, const PeerGroups& groups);
// Disconnects these processes, with which no message is pending. active() may return other transports afterwards.
// `asleep`: a thread may sleep in one of the transports, which is then kept for a while.
void disconnect(std::span<const int> procs, bool asleep);
// Closes the transport that connect_groups() has created for groups of that name, because other processes of them
// failed to connect. `asleep` and active(): as for disconnect().
void abandon(std::string_view groups, bool asleep);

std::span<Transport* const> active() noexcept;
// `then`: called before the transports are destroyed, once no process of the job sends anything more between hosts, and
// the processes of this host know that this one has left.
Status finalize(void (*then)() = nullptr);

}  // namespace hr::transport
