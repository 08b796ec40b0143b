// Counters of this process's activity, in a page that other processes can read (docs/counters.md, ADR 35).
//
// The page is static memory of the library, so that counting is an addition at a fixed address. publish() replaces it
// with shared memory that contains the counts so far; without shared memory, counting continues but is not visible. The
// page describes itself: a reader needs only its head and its text, which gives the layout (counters_text.cpp).
//
// Every value is 64 bits wide at its natural alignment, so that a reader never sees half of one; values that belong
// together may have been written at different times. One thread writes at a time. Memory order: none between values;
// the head's version is written last (release). Owner: process-wide, from the program's start to its end. Threads:
// library lock.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace hr::counters {

using Value = std::uint64_t;

// Version of the head's layout and of the text's format.
inline constexpr std::uint32_t kVersion = 1;
inline constexpr char kMagic[] = "HRCOUNTS";

inline constexpr std::size_t kFunctions = 640;
inline constexpr std::size_t kPeers = 256;
inline constexpr std::size_t kClasses = 3;  // number of classes of peers
inline constexpr std::size_t kProtocols = 16;
inline constexpr std::size_t kSizes = 64;
inline constexpr std::size_t kStatisticPlaces = 64;
inline constexpr std::size_t kAlgorithms = 128;
inline constexpr std::size_t kOperations = 32;      // number of collective operations
inline constexpr std::size_t kOperationSizes = 40;  // element 0: no bytes; n: less than 2^n bytes
inline constexpr std::size_t kMarks = 64;
inline constexpr std::size_t kTextBytes = std::size_t{48} * 1024;

enum class State : std::uint32_t { kNone, kRunning, kFinalized };

// Has the same layout in all versions up to `version`.
struct Head {
  char magic[8];
  std::uint32_t version;  // 0: not complete yet
  std::uint32_t state;    // State
  Value bytes;            // size of the page
  Value text_at;
  Value text_bytes;
  Value begun;  // nanoseconds since 1970
  Value ended;  // nanoseconds since 1970; 0: not yet
};

// Current activity.
struct Now {
  Value function;       // number of the function that the program is in; 0: in none
  Value waiting_since;  // CLOCK_MONOTONIC, nanoseconds; 0: not waiting, or not for long
  Value waiting_for;    // 1 + the process that is waited for; 0: several or none
};

struct Amount {
  Value count;
  Value bytes;
  void add(Value of_bytes) noexcept {
    ++count;
    asm("" : "+m"(count));  // otherwise the compiler adds both as a vector, which is slower
    bytes += of_bytes;
  }
};

struct Function {
  Value calls;
  Value timed_next;   // number of calls before the next timed one; not for readers
  Value nanoseconds;  // time in the function, estimated from the timed calls
  Value bytes;        // bytes of messages sent by the function
};

enum class PeerClass : std::uint8_t { kSelf, kHost, kOtherHost };

// Another process to which a message has been sent. The last rows, one per class, are for all processes without a row.
// A row is never assigned to another process.
struct Peer {
  Value process;     // 1 + its index in the table of processes (the rank for processes of this job); 0: unused row
  Value peer_class;  // PeerClass
  Amount sent[2];    // the program's messages; the library's own (collective operations, agreements, ...)
  Value waits;
  Value waited;  // nanoseconds
};

enum class Memory : std::uint8_t { kHost, kPinned, kManaged, kDevice };
inline constexpr std::size_t kMemories = 4;

struct Level {
  Value now;
  Value most;
  void up(Value amount = 1) noexcept {
    now += amount;
    if (now > most) most = now;
  }
  void raise(Value to) noexcept {
    if (to > most) most = to;
  }
  void down(Value amount = 1) noexcept { now -= amount; }
};

enum class Access : std::uint8_t { kPut, kGet, kAccumulate, kFetch, kRead, kWrite };
inline constexpr std::size_t kAccesses = 6;

// Parts of the library that keep communication buffers. buffered.hpp counts the bytes of each.
enum class Buffers : std::uint8_t { kShm, kCollectives, kTcp, kUcx, kOfi, kPinned, kDevice };
inline constexpr std::size_t kBuffers = 7;

struct Mark {
  Value time;  // nanoseconds since 1970
  Value level;
};

inline constexpr std::size_t kPageAlignment = 4096;

struct alignas(kPageAlignment) Page {
  Head head;
  alignas(64) Now now;
  Level posted;                     // posted receives not matched yet
  alignas(64) Value sizes[kSizes];  // messages sent; element n: less than 2^(n + 1) bytes
  alignas(64) Amount received[kProtocols];
  Amount rendezvous;              // messages sent by rendezvous
  Amount memories[kMemories];     // messages sent from each kind of memory; the others were in host memory
  Amount to_memories[kMemories];  // messages received into each kind of memory
  Level unexpected;               // messages not matched yet
  Level unexpected_bytes;         // bytes kept for unexpected messages
  Value unexpected_messages;
  Value waits;
  Value waited;  // nanoseconds
  Value longest_wait;
  Value marks;                         // MPI_Pcontrol
  Mark mark[kMarks];                   // the last marks, as a ring
  Value statistics[kStatisticPlaces];  // base/statistics.hpp
  Amount accesses[kAccesses];
  Amount algorithms[kAlgorithms];
  Value operations[kOperations][kOperationSizes];
  Value waited_in[kFunctions];
  Peer peers[kPeers];
  alignas(64) Function functions[kFunctions];
  Level buffers[kBuffers];  // bytes
  // Not for readers.
  Value stands_for[kFunctions];  // number of calls that the next timed call represents
  Value timed;                   // the function of the call that is timed now
  Value timed_since;             // CLOCK_MONOTONIC, nanoseconds
  Value waited_before;           // value of `waited` when the timing began
  alignas(64) char text[kTextBytes];
};

inline constinit Page page{};

// --- counting ---
// Returns the row of a process; the first message to it creates the row.
Peer& row_of(int process, PeerClass peer_class) noexcept;
inline Peer& row_of_others(PeerClass peer_class) noexcept {
  return page.peers[kPeers - kClasses + static_cast<std::size_t>(peer_class)];
}

// Counts a message to that process as it is sent.
inline void count_sent(Peer& row, bool internal, std::size_t bytes) noexcept {
  if (internal) {
    row.sent[1].add(bytes);
  } else {
    row.sent[0].add(bytes);
  }
  ++page.sizes[63U ^ static_cast<unsigned>(std::countl_zero(static_cast<Value>(bytes | 1)))];
  page.functions[page.now.function].bytes += bytes;
}
inline void count_access(Access access, std::size_t bytes) noexcept {
  page.accesses[static_cast<std::size_t>(access)].add(bytes);
}
inline void count_operation(std::size_t operation, std::size_t bytes) noexcept {
  const auto size = static_cast<std::size_t>(std::bit_width(bytes));
  ++page.operations[operation][size < kOperationSizes ? size : kOperationSizes - 1];
}
inline void count_rendezvous(std::size_t bytes) noexcept { page.rendezvous.add(bytes); }
void count_mark(int level) noexcept;

// Begin and end the count of a wait that has become long. A wait within another one is not counted.
[[nodiscard]] bool begin_wait(int process) noexcept;  // process -1: several or none; false: within another wait
void end_wait(int process) noexcept;

// Time a call of a function; only some calls are timed.
void begin_timing(std::size_t function) noexcept;
void end_timing() noexcept;

// Counts one call that the program makes to function number kFunction, starting from 1. Owner: the entry point, with
// the library lock held.
template <std::size_t kFunction>
class Call {
 public:
  Call() noexcept {
    Function& own = page.functions[kFunction];
    if (++own.calls > own.timed_next) [[unlikely]]
      begin_timing(kFunction);
    page.now.function = kFunction;
  }
  ~Call() {
    if (page.timed == kFunction) [[unlikely]]
      end_timing();
    page.now.function = 0;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};
// Counts a call like Call, but only if the thread holds the library lock.
template <std::size_t kFunction>
class CallIf {
 public:
  explicit CallIf(bool counts) noexcept {
    if (counts) [[likely]]
      call_.emplace();
  }

 private:
  std::optional<Call<kFunction>> call_;
};

}  // namespace hr::counters
