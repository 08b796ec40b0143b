// Matched: a persistent request that MPIX_Matchall has matched with the requests of the other processes, all on one
// host and on devices. Streams execute it on their own: the library's threads take no part. Internal to enqueue/.
//
// Each process has words in its own device memory, which the other processes' kernels increment and its own kernels
// decrement: a stream waits until a word is at least one, and then launches a kernel that decrements it. Between
// processes that each have their own device, the kernel waits instead of the stream, and for lines instead of words if
// the message is short (kernels/matched_copy.hpp, setting stream_waits). Every start and every wait is the same work,
// whether or not it belongs to a graph.
//
// If one of the other processes fails, or the communicator is revoked, the service releases the request: its stream no
// longer waits, and no data moves.
//
// Owner: the request. Takes the place of the request's state, and keeps that state in before_. The memory of all sides
// stays until finalize(), because a graph may still refer to it. Threads: library lock.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "enqueue/operation.hpp"
#include "mem/device/exported_buffer.hpp"
#include "mem/device/ipc.hpp"

namespace hr::enqueue {

struct Match;

class Matched : public p2p::RequestState {
 public:
  explicit Matched(const Match& match);
  ~Matched() override;

  // Fails: MPI_Start cannot start a matched request.
  Status start(p2p::Request& request) override;
  Status cancel(p2p::Request& request) override { return before_->cancel(request); }
  [[nodiscard]] Status may_free() const override { return before_->may_free(); }
  [[nodiscard]] const char* what() const noexcept override { return before_->what(); }

  enum class Kind : std::uint8_t { kSend, kReceive, kAllreduce, kLong };
  // Name for error messages.
  [[nodiscard]] virtual std::string text() const { return what(); }
  // Adds the words for which the stream waits; none if the kernel waits.
  virtual void add_words(std::vector<mem::device::DeviceAddress>* words) const = 0;
  // Called at the end of the session.
  virtual void close_buffers() noexcept {}
  // Writes the words for which a stream waits, so that it no longer waits.
  Status release();
  struct Release {
    mem::device::DeviceAddress word;
    std::uint32_t value;
  };

  Kind kind_ = Kind::kAllreduce;
  std::unique_ptr<p2p::RequestState> before_;
  Ref<comm::Communicator> comm_;
  std::vector<int> procs_;  // the others
  p2p::Completion result_;  // of a wait
  mem::Location where_;     // location of the words, for the library's own work
  mem::device::ContextHandle context_ = nullptr;
  // Kernel that polls the words before the stream waits for them (kernels/matched_look.cu). Null if the kernel waits,
  // or if polling would only take time from a process on the same device.
  mem::device::FunctionHandle look_ = nullptr;
  Ref<Stream> stream_;               // stream that started the request last
  bool started_ = false;             // started, and not yet waited for
  CaptureId capture_ = 0;            // capture to which the start belongs; 0: none
  std::vector<Ref<Stream>> graphs_;  // streams in whose captures it was started
  bool released_ = false;

 protected:
  // Returns the words to write, in this order.
  [[nodiscard]] virtual std::vector<Release> releases() const = 0;
};

// Returns null if the request was not matched for streams.
[[nodiscard]] Matched* matched_of(const p2p::Request& request);

// For start_all(), run_all() and wait(). `capture`: of the stream; 0: none. *waited (null: do not wait): set to true if
// a single kernel starts the requests and waits for them, else to false: the caller must then call wait_matched().
Status start_matched(std::span<p2p::Request* const> requests, Attached& attached, CaptureId capture, bool* waited);
// All of these must have been started in one stream, in a capture or not, and check_wait() must have been called.
Status wait_matched(Stream& stream, std::span<Waiting* const> all);
// Releases the requests that can no longer be executed. Called in rounds of progress.
void look_after_matched();

// --- matching ---

// A buffer of the program that another process opens.
struct Operand {
  std::uint64_t address = 0;
  mem::device::Export memory;
};
// Maps memory of another process, and adds the mapping to `mappings`. *address: receives the operand's address in this
// process. The device's context must be current. False if it cannot be mapped.
bool map_operand(mem::device::Context& device, int proc, const Operand& operand,
                 std::vector<mem::device::Mapping*>* mappings, std::uint64_t* address);

// One process's part in a match, as sent to another process.
struct Card {
  std::uint64_t able = 0;      // 0: this process cannot take part
  std::uint64_t kernel = 0;    // nonzero: a kernel may wait in the stream
  std::uint64_t locality = 0;  // of the memory's device
  std::uint64_t bytes = 0;     // size of the message or the vector
  std::uint64_t work = 0;      // the same number on all sides
  std::uint64_t address = 0;   // of the words
  mem::device::Export memory;
  Operand operands[2];  // of an operation on the program's buffers
};

// Another process of a match. Cards sent to it have the tag `out`, cards received from it the tag `in`.
struct Side {
  int proc = -1;
  int rank = -1;
  int out = 0, in = 0;
  Card own, other;
};

// A persistent request that is being matched. prepare() and connect() together decide, on all sides, whether streams
// execute it.
struct Match {
  explicit Match(p2p::Request& from, std::uint32_t context_of_cards)
      : request(&from), comm(static_cast<comm::Communicator*>(from.communicator_)), context(context_of_cards) {}
  virtual ~Match() = default;
  Match(const Match&) = delete;
  Match& operator=(const Match&) = delete;

  // Checks whether this process can take part, allocates memory, and fills in its cards.
  virtual void prepare() = 0;
  // Maps the memory of the other processes, whose cards have arrived. Returns null if the memory cannot be mapped, or
  // if streams should not execute the request (cards do not fit together, or the general method is faster).
  virtual std::unique_ptr<Matched> connect() = 0;

  // Finds the context of `where`, and loads a kernel. False if this fails, or if streams cannot wait for words in
  // device memory.
  bool open(const char* kernel, mem::device::Context** device, mem::device::FunctionHandle* function) const;
  // Allocates memory that begins with `first`, and exports it to all sides. The device's context must be current.
  Status take_memory(std::size_t bytes, std::span<const std::byte> first);
  void set_able(const mem::device::Context& device);
  // Checks whether a kernel may wait for this request in this process's stream, and if so offers that to all sides.
  void offer_kernel();
  [[nodiscard]] bool offers_kernel() const { return sides.front().own.kernel != 0; }
  // True if all sides have offered waiting kernels.
  [[nodiscard]] bool kernel_waits() const;
  // Copies bytes to the beginning of this process's words. The device's context must be current.
  Status write_words(std::span<const std::byte> bytes) const;
  // Maps the memory of a side; false if it cannot be mapped. *address: receives the address of its words in this
  // process. The device's context must be current.
  bool map(mem::device::Context& device, const Side& side, std::uint64_t* address) const;
  // Fills in the members common to all kinds. `looks`: waits poll the words first, if only other devices write them.
  void set_common(mem::device::Context& device, bool looks, Matched* made) const;

  p2p::Request* request;
  comm::Communicator* comm;
  std::uint32_t context;
  mem::Location where;
  std::uint64_t words = 0;  // address of this process's words
  std::vector<Side> sides;
};

// Program buffers in other processes that a request uses in place.
struct OpenBuffers {
  void close() noexcept;

  std::vector<mem::device::Mapping*> mappings;
  mem::Location where;
  Ref<Stream> stream;                       // stream that used them last; null: none
  std::vector<Ref<Stream>> graphs;          // streams in whose captures they were used
  mem::device::DeviceAddress released = 0;  // word that kernels check before they use the buffers
};
// Closes the buffers of a freed request once its stream is done with them; if graphs use them, when the communicators
// of all streams in which these were captured are freed, too.
void close_buffers(OpenBuffers buffers);
// Closes the buffers of earlier calls that can be closed now.
void close_idle_buffers();

// Device memory for words and slots.
struct MatchedMemory {
  mem::device::ExportedBuffer buffer;
  std::size_t bytes = 0;
  std::size_t used = 0;
};

// Pieces of MatchedMemory begin at multiples of this number.
inline constexpr std::size_t kMatchedAlignment = 256;
constexpr std::size_t matched_slot(std::uint64_t bytes) {
  return (bytes + kMatchedAlignment - 1) / kMatchedAlignment * kMatchedAlignment;
}
// The size of a slot for lines, which take 8 bytes for 4 bytes of data.
constexpr std::size_t matched_line_slot(std::uint64_t bytes) { return matched_slot((bytes + 3) / 4 * 8); }

}  // namespace hr::enqueue
