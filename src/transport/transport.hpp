// Transport: how bytes reach another process. self, shm (later cuda_ipc, ucx) implement this; p2p uses nothing else.
//
// A transport carries messages: a fixed 24-byte header, opaque here, and a payload. Messages from one process to
// another arrive in the order they were accepted. Arrival is an upcall (Deliver) from within progress(); the
// payload is only valid during the call. A transport never blocks: "no room" is an answer.
//
// Owner: the registry owns the transports from init() to finalize(). Lifetime of a connection: from the first
// send to a process until finalize. Threads: library lock, but where a function says otherwise.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hr::transport {

// Opaque to transports; p2p/wire.hpp gives it meaning.
struct Header {
  std::uint64_t words[3];
};
static_assert(sizeof(Header) == 24);

// On a cache line of its own.
struct alignas(64) SharedWord {
  std::atomic<std::uint64_t> value;
};

// Some memory of another process, and as much of this one's.
struct RemotePart {
  std::uint64_t address;
  std::byte* local;  // not written by write_remote()
  std::size_t bytes;
};

// Called for every message that arrived. Must not call progress() or send from inside.
using Deliver = void (*)(int from, const Header& header, const std::byte* payload, std::size_t bytes);

// What a protocol needs to know to choose; a pure function of (transport, process).
struct Caps {
  std::size_t inline_bytes = 0;     // payloads up to this travel with the header, at the least latency
  std::size_t max_payload = 0;      // largest payload of one message
  std::size_t chunk_bytes = 0;      // best size of one piece of a pipelined transfer
  bool remote_read = false;         // read_remote() may be called (its success is found out by doing)
  bool same_node = false;           // both processes run under one operating system
  bool same_address_space = false;  // remote addresses are local ones (self)
  double latency_seconds = 0;       // of an inline message
  double bytes_per_second = 0;      // of a pipelined stream of chunks

  [[nodiscard]] std::size_t ring_bytes() const noexcept { return 2 * max_payload; }  // that messages pass through
};

class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  [[nodiscard]] virtual bool reaches(int proc) const noexcept = 0;
  [[nodiscard]] virtual Caps caps(int proc) const noexcept = 0;

  // Makes the process reachable; called once, before the first send to it. Errors name the file or the socket.
  virtual Status connect(int proc) = 0;

  // Accepts one message or answers Status::again(). On success header and payload have been copied.
  virtual Status send(int proc, const Header& header, const void* payload, std::size_t bytes) = 0;
  // The same in two steps, to build the payload in place (packing straight into the ring): reserve() returns where
  // to write `bytes` bytes, or nullptr for "again"; commit() publishes the last reservation for that process.
  virtual std::byte* reserve(int proc, std::size_t bytes) = 0;
  virtual void commit(int proc, const Header& header) = 0;

  // Delivers what has arrived (a bounded number of messages). True when there was any.
  virtual bool progress() = 0;

  // Copies from addresses of that process into local host memory, all parts together. MPI_ERR_UNSUPPORTED_OPERATION
  // when the system does not let us (the caller falls back and does not ask again); some may have been copied then.
  // This one and write_remote() need no library lock, and several threads may call them at a time.
  virtual Status read_remote(int proc, std::span<const RemotePart> parts) = 0;

  // The other way: from local host memory to addresses of that process. Errors as read_remote().
  virtual Status write_remote(int /*proc*/, std::span<const RemotePart> /*parts*/) {
    return Errc::kUnsupportedOperation;
  }

  // Words of that process which all processes that reach it can read and write, zero at first; what they mean is the
  // affair of who uses them. Of the same number everywhere; empty where there are none.
  virtual std::span<SharedWord> shared_words(int /*proc*/) { return {}; }

  // Memory that both that process and this one can reach, for that process to stage data in for the others: the same
  // bytes in all of them, of the same size everywhere. Empty where there is none. A process that asks for its own gets
  // it with pages behind it (empty when there are none left: noted once); the others may touch it once they were told
  // to.
  virtual std::span<std::byte> staging(int /*proc*/) { return {}; }

  // Sleeping. arm() is empty where something has arrived already. After it a message that arrives, or wake(), ends the
  // sleep() that is called with what it returned, also where that has not begun yet, and whatever other threads do
  // meanwhile; each such answer is for one sleep(), which must follow. Several threads may sleep at a time; sleep() and
  // wake() need no library lock. Only one transport of a process sleeps (the one with the doorbell); the default does
  // not.
  [[nodiscard]] virtual bool can_sleep() const noexcept { return false; }
  [[nodiscard]] virtual std::optional<std::uint32_t> arm() { return std::nullopt; }
  virtual void sleep(std::uint32_t /*armed*/, double /*at_most_seconds*/) {}
  virtual void wake() noexcept {}  // whoever sleeps in this process, or is armed to

  // Everything accepted has left this process's hands (the peer need not have read it).
  virtual Status finalize() = 0;
};

// The facts about the job a transport is built from.
struct Job {
  int rank = 0;
  int size = 1;
  std::vector<int> node_of_rank;
  std::string_view job_id;
};

// One record a transport, listed in registry.cpp.
struct Record {
  const char* name;
  // nullptr when the transport has nothing to do in this job (no peer it could reach).
  Status (*create)(const Job& job, Deliver deliver, std::unique_ptr<Transport>* out);
};

Status init(const Job& job, Deliver deliver);
// The transport for a process: the first in list order that reaches it; connected on return.
// Errors: MPI_ERR_OTHER when none does, naming the process and what was tried.
Status connect(int proc, Transport** out);
std::span<Transport* const> active() noexcept;
Status finalize();

}  // namespace hr::transport
