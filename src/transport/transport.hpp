// Transport: how bytes reach another process. self, shm and ucx implement this; p2p uses nothing else.
//
// A transport carries messages: a fixed 24-byte header, of which it reads the kind alone, and a payload. Messages from
// one process to another arrive in the order they were accepted. progress() hands each to the handler that an upper
// layer handed down for its kind; the payload is only valid during the call. A transport never blocks: "no room" is an
// answer.
//
// It also reads, writes and updates memory of others, as far as its Caps say so: started by one call, complete when its
// Operation says so. Memory is exposed once by its owner, which sends the key to the processes that need it.
//
// A failed path is reported once for each process (Handlers::failed). Operations under way on it end with that error.
//
// Processes of other jobs connect while messages are under way (MPI 5.0 chapter 11): those that share memory get a
// transport of their own, made for the two groups; to those on other hosts the transport that fills gaps opens a path.
//
// Owner: the registry owns the transports from init() to finalize(), and a transport of two groups until all of its
// processes are disconnected. Lifetime of a connection: from the first send to a process until finalize, or until it is
// disconnected. Threads: library lock, unless a function says otherwise.
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

// Opaque to transports but for the low bits of its first word, the kind; p2p/wire.hpp gives the rest meaning.
struct Header {
  std::uint64_t words[3];
};
static_assert(sizeof(Header) == 24);

inline constexpr std::size_t kKinds = 64;
[[nodiscard]] inline std::size_t kind_of(const Header& header) noexcept { return header.words[0] % kKinds; }

// A shared word on a cache line of its own.
struct alignas(64) SharedWord {
  std::atomic<std::uint64_t> value;
};

// Some memory of another process, and as much of this one's.
struct RemotePart {
  std::uint64_t address;
  std::byte* local;  // not written by put()
  std::size_t bytes;
};

// Plain bytes by which another process reaches memory that this one has exposed; sent in a message.
struct RemoteKey {
  static constexpr std::size_t kMost = 240;
  std::uint32_t bytes = 0;
  std::byte data[kMost];
};

// A get, put, update or flush under way. Owner: the caller that started it, until it is complete; it does not move.
// Written by the transport from within the starting call or progress().
struct Operation {
  bool complete = false;
  Status status = kOk;
  // Called, if not null, when it completes after the starting call has returned; it may destroy the operation.
  void (*then)(Operation& self) = nullptr;

  void end(Status with) {
    status = with;
    complete = true;
    if (then != nullptr) then(*this);
  }
};

// Names data that another process keeps for this one (Transport::send_rts()): plain bytes, of this process.
struct RendezvousData {
  std::uint64_t token = 0;
};

// Data of a rendezvous at its sender, which owns it: plain bytes, in device memory if the transport serves that.
struct Source {
  const std::byte* address;
  std::size_t bytes;
  bool device = false;
};

// Destination of the data of a rendezvous: `address`, or, if unpack is set, pieces handed to unpack, each once, in any
// order. It must take `bytes` bytes, all that there are. Owner: the receiving side; it stays until the operation is
// complete.
struct Sink {
  std::byte* address = nullptr;
  std::size_t bytes = 0;
  bool device = false;  // device memory (Caps::device_rendezvous), nothing is unpacked
  void (*unpack)(Sink& self, std::size_t offset, const std::byte* data, std::size_t bytes) = nullptr;
};

// Applied to 4 or 8 bytes at their natural alignment, in the byte order of this machine. `compare` is read by
// kCompareSwap alone.
enum class Update : std::uint8_t { kAdd, kAnd, kOr, kXor, kSwap, kCompareSwap };

// Called for every message that arrived, by its kind. Must not call progress() from inside.
using Handler = void (*)(int from, const Header& header, const std::byte* payload, std::size_t bytes);

using MessageHandlers = std::array<Handler, kKinds>;

// Functions that upper layers hand down before init(). The object stays where it is until finalize().
struct Handlers {
  MessageHandlers of_kind{};  // none null once init() has returned
  // Called when the path to that process failed, for the reason in `why` and the recorded detail: once for each process
  // and transport, from within any call of it. Later sends to that process only return errors.
  void (*failed)(int proc, Status why) = nullptr;
};

// A modelled time: a fixed part, and a part by length.
struct Cost {
  double latency_seconds = 0;
  double bytes_per_second = 0;  // 0: not stated, the length does not count
  [[nodiscard]] constexpr double seconds(std::size_t bytes) const noexcept {
    return latency_seconds + (bytes_per_second > 0 ? static_cast<double>(bytes) / bytes_per_second : 0);
  }
};

inline constexpr std::size_t kMostInFront = 64;

// Properties by which a protocol chooses; a pure function of (transport, process).
struct Caps {
  std::size_t inline_bytes = 0;  // payloads up to this travel with the header, at the least latency
  std::size_t max_payload = 0;   // largest payload of one message
  std::size_t chunk_bytes = 0;   // best size of one piece of a pipelined transfer
  // Largest message worth sending eagerly on this path, with up to kMostInFront bytes of a protocol's own in front,
  // also if that is more than max_payload; 0: no opinion.
  std::size_t eager_bytes = 0;
  bool rendezvous = false;          // send_rts(), receive_rendezvous() and decline_rendezvous() of host memory
  bool device_rendezvous = false;   // the same for device memory, not waiting for work that the program began on it
  bool remote_read = false;         // get() of memory that was not exposed may be called (it may turn out to fail)
  bool exposes_host = false;        // expose() of host memory, and get(), put(), update() of it
  bool exposes_device = false;      // the same for device memory
  bool same_node = false;           // both processes run under one operating system
  bool same_address_space = false;  // remote addresses are local ones (self)
  // Cost of messages from and to host memory: an inline one, and a pipelined stream of chunks.
  double latency_seconds = 0;
  double bytes_per_second = 0;
  // Cost of get() and put(), by the kind of the memory at the other side; without a bandwidth it is that of messages.
  Cost host_memory{};
  Cost device_memory{};

  [[nodiscard]] constexpr Cost messages() const noexcept { return {latency_seconds, bytes_per_second}; }
  [[nodiscard]] constexpr Cost memory(bool device) const noexcept {
    const Cost& stated = device ? device_memory : host_memory;
    return stated.bytes_per_second > 0 ? stated : messages();
  }
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Called after all processes' create() and an exchange of what it published (boot::put(), boot::node_put()).
  virtual Status open() { return kOk; }
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual bool reaches(int proc) const noexcept = 0;
  [[nodiscard]] virtual Caps caps(int proc) const noexcept = 0;

  // Makes the process reachable; called once, before the first send to it. Errors name the file or the socket.
  virtual Status connect(int proc) = 0;

  // Accepts one message or answers Status::again(). On success header and payload have been copied.
  virtual Status send(int proc, const Header& header, const void* payload, std::size_t bytes) = 0;
  // Does the same in two steps, to build the payload in place (packing straight into the ring): reserve() returns where
  // to write `bytes` bytes, or nullptr for "again"; commit() publishes the last reservation for that process.
  virtual std::byte* reserve(int proc, std::size_t bytes) = 0;
  virtual void commit(int proc, const Header& header) = 0;

  // Sends a ready-to-send message like send(), and keeps `data` for the other process, whose handler gets a
  // RendezvousData behind the payload. That process receives or declines it, once; then `done` is complete. An error
  // that `done` reports is that of the path, which Handlers::failed reports, too.
  virtual Status send_rts(int /*proc*/, const Header& /*header*/, const void* /*payload*/,
                          std::size_t /*payload_bytes*/, const Source& /*data*/, Operation* /*done*/) {
    return Errc::kUnsupportedOperation;
  }
  // Copies the data to the sink; `done` is complete when all of it is there. Errors as of send_rts().
  virtual Status receive_rendezvous(int /*proc*/, RendezvousData /*data*/, Sink* /*into*/, Operation* /*done*/) {
    return Errc::kUnsupportedOperation;
  }
  virtual void decline_rendezvous(int /*proc*/, RendezvousData /*data*/) noexcept {}
  // True if that process keeps it for this one, and it was neither received nor declined. A message may claim anything.
  [[nodiscard]] virtual bool has_rendezvous(int /*proc*/, RendezvousData /*data*/) const noexcept { return false; }

  // True if that process has left MPI and takes no more messages: one that finds no room will never find any.
  [[nodiscard]] virtual bool has_left(int /*proc*/) const noexcept { return false; }

  // Delivers messages that have arrived (a bounded number). Returns true if there were any.
  virtual bool progress() = 0;

  // --- memory of others ---
  // Lets others reach this memory of ours until withdraw(). Errors: MPI_ERR_UNSUPPORTED_OPERATION if the transport does
  // not expose such memory; MPI_ERR_NO_MEM.
  virtual Status expose(std::byte* /*address*/, std::size_t /*bytes*/, bool /*device*/, RemoteKey* /*key*/) {
    return Errc::kUnsupportedOperation;
  }
  virtual void withdraw(const RemoteKey& /*key*/) noexcept {}

  // Copies from memory of that process into ours, all parts together. `key`: of exposed memory that all parts lie in;
  // null: host memory that was not exposed (Caps::remote_read). Errors: MPI_ERR_UNSUPPORTED_OPERATION if the system
  // does not permit it (the caller falls back and does not ask again); some may have been copied then. `done`: complete
  // when all of it is here; null: it is complete on return, which only memory without a key allows. In that case get(),
  // like put(), needs no library lock, and several threads may call it at a time.
  virtual Status get(int /*proc*/, const RemoteKey* /*key*/, std::span<const RemotePart> /*parts*/,
                     Operation* /*done*/) {
    return Errc::kUnsupportedOperation;
  }
  // Copies the other way. `done`: complete when `local` may be used again; flush() tells when the data is there.
  virtual Status put(int /*proc*/, const RemoteKey* /*key*/, std::span<const RemotePart> /*parts*/,
                     Operation* /*done*/) {
    return Errc::kUnsupportedOperation;
  }
  // Updates `bytes` (4 or 8) at `address` atomically, also against updates by other processes through this transport;
  // writes the previous value to `before`, if it is not null, by the time `done` is complete.
  virtual Status update(int /*proc*/, const RemoteKey& /*key*/, std::uint64_t /*address*/, std::size_t /*bytes*/,
                        Update /*update*/, std::uint64_t /*operand*/, std::uint64_t /*compare*/,
                        std::uint64_t* /*before*/, Operation* /*done*/) {
    return Errc::kUnsupportedOperation;
  }
  // Orders this process's puts and updates of that process's memory: those started before take effect before those
  // started after it has returned success. Status::again(): not yet; to be called again, with progress in between.
  virtual Status fence(int /*proc*/) { return kOk; }
  // Completes when all earlier puts and updates of that process's memory have taken effect, visible to all.
  virtual Status flush(int /*proc*/, Operation* done) {
    done->complete = true;
    return kOk;
  }

  // Words of that process which all processes that reach it can read and write, zero at first; their users define their
  // meaning. The same number everywhere; empty if there are none.
  virtual std::span<SharedWord> shared_words(int /*proc*/) { return {}; }

  // Memory in which that process stages data for others, and which this one can reach, too: the same bytes in all
  // processes, and of the same size for each. Empty if there is none. A process that asks for its own gets it backed by
  // pages (empty when there are none left: noted once); the others may touch it once they were told to.
  virtual std::span<std::byte> staging(int /*proc*/) { return {}; }

  // Sleeping. arm() returns nothing if a message has arrived already. After it, a message that arrives, or wake(), ends
  // the sleep() that is called with the value that arm() returned, even if that sleep() has not begun yet, and whatever
  // other threads do meanwhile; each such value is for one sleep(), which must follow. Several threads may sleep at a
  // time; sleep() and wake() need no library lock. Only one transport of a process sleeps (the one with the doorbell);
  // the default does not.
  [[nodiscard]] virtual bool can_sleep() const noexcept { return false; }
  [[nodiscard]] virtual std::optional<std::uint32_t> arm() { return std::nullopt; }
  virtual void sleep(std::uint32_t /*armed*/, double /*at_most_seconds*/) {}
  virtual void wake() noexcept {}  // wakes every thread of this process that sleeps, or is armed to
  // Returns a descriptor that becomes readable when something arrives after arm_arrivals() has returned true, for
  // threads that sleep elsewhere; -1: there is none. arm_arrivals() returns false if something has arrived already.
  [[nodiscard]] virtual int arrivals() const noexcept { return -1; }
  [[nodiscard]] virtual bool arm_arrivals() { return false; }

  // --- processes of other jobs ---
  // Returns the address that a process of another job needs; empty: this transport reaches none by an address.
  virtual Status describe(std::string* /*address*/) { return kOk; }
  // Reaches that process from now on, by the address that it has described.
  virtual Status set_peer_address(int /*proc*/, const std::string& /*address*/) { return Errc::kUnsupportedOperation; }
  // Ends all messages to and from these; each of them disconnects from this process, too, or fails, and is waited for
  // as long as its path needs it. True: none of the processes that this transport was made for is left.
  virtual bool disconnect(std::span<const int> /*procs*/) { return false; }

  // Waits until everything accepted has left this process's hands (the peer need not have read it).
  virtual Status finalize() = 0;
};

// Facts about the job that a transport is built from.
struct Job {
  int rank;
  int size;
  const boot::Processes& processes;
  std::string_view job_id;
  bool late = false;  // the job is under way, and the others of it make no transport now
};

// Two sets of processes, of several jobs, that connect; the same in all of them.
struct PeerGroups {
  std::string name;                    // unique among those of a host; safe in a file name, and begins with a job's
  std::vector<int> ours;               // this process's set
  std::vector<int> theirs;             // none of which is in the other set
  std::vector<std::string> addresses;  // of theirs
  bool first = false;                  // ours comes first wherever both are numbered
};

// One record for each transport, listed in record_list.cpp.
struct Record {
  const char* name;
  // Makes the transport; nullptr if it has nothing to do in this job (no peer it could reach). Publishes what others
  // need to reach this process. A failure of one process must not keep the others from opening: open() reports it.
  Status (*create)(const Job& job, const Handlers& handlers, std::unique_ptr<Transport>* out);
  // Made only if there are processes that no earlier transport reaches.
  bool fills_gaps = false;
  // A transport for the processes of two groups that are on this host, made by each of them; null: it has none for
  // them.
  Status (*connect_groups)(const Job& job, const Handlers& handlers, const PeerGroups& here,
                           std::unique_ptr<Transport>* out) = nullptr;
};

// Starts the transports; collective over the job. Unset handlers are set to one that drops the message. Errors:
// MPI_ERR_OTHER if HEADRACE_TRANSPORTS names an unknown one; the transports'.
Status init(const Job& job, Handlers& handlers);
// True if both processes can reach the same memory, through the transport that connect() would take for messages.
[[nodiscard]] bool shares_memory(int proc) noexcept;

// Ways to another process. All messages take one, so that they stay in order; memory may be reached by another.
struct Paths {
  Transport* messages = nullptr;
  Transport* memory = nullptr;  // host memory that was not exposed; null: no transport reaches it
  Caps caps;                    // of messages; remote_read and host_memory are those of `memory`
};
// Finds the transports of the least stated cost among those that reach the process, ties by order in the list;
// connected on return. Errors: MPI_ERR_OTHER if none reaches it, naming the process and the transports tried.
Status connect(int proc, Paths* out);

enum class Memory : std::uint8_t { kUnexposed, kHost, kDevice };  // host memory without a key, exposed memory
// Returns the transport of the least stated cost whose get() and put() reach such memory of that process; null: none.
// Not connected.
[[nodiscard]] Transport* path_to_memory(int proc, Memory memory) noexcept;

// Returns the address of this process for processes of other jobs on other hosts. `make`: if no transport has one, the
// one that fills gaps is made now; otherwise the address stays empty.
Status describe(const Job& job, bool make, std::string* address);
// Opens paths to the other group; those that can be reached already keep theirs. The status is of this process
// alone. active() may return other transports afterwards.
Status connect_groups(const Job& job, const PeerGroups& groups);
// Disconnects these, to or from which no message is under way. active() as above. `asleep`: a thread may sleep in one
// of the transports, which then is kept for a while.
void disconnect(std::span<const int> procs, bool asleep);

std::span<Transport* const> active() noexcept;
Status finalize();

}  // namespace hr::transport
