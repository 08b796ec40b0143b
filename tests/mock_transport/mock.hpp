// mock: a job of several processes in one. This process is one of them; a test plays the others through Network and
// injects faults.
//
// A message to another process is kept until the test takes it; messages from other processes arrive in rounds of
// progress, one per round. Messages from one process stay in order; those of several processes arrive in the order in
// which they were sent, unless the test changes that. Nothing happens by itself or after some time: the rounds of
// progress are the clock.
//
// The others' memory is memory of this process, so a RemoteKey holds an address. Gets and puts take effect at their
// completion, as many rounds after their start as the test has set.
// Owner: the transport owns the Network, from create() to its end. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "transport/transport.hpp"

namespace hr::transport::mock {

struct Message {
  Header header{};
  std::vector<std::byte> payload;
};

inline constexpr unsigned kForEver = ~0U;

class Network {
 public:
  explicit Network(const Handlers& handlers, int rank) : handlers_(handlers), rank_(rank) {}

  // --- the others, as the test plays them ---
  // Sends a message from that process to this one.
  void send_from(int proc, const Header& header, const void* payload = nullptr, std::size_t bytes = 0);
  // Removes and returns the oldest message to that process; none if there is none.
  [[nodiscard]] std::optional<Message> take(int proc);
  [[nodiscard]] std::size_t waiting(int proc) const;  // number of messages to it that have not been taken
  // Returns a key to that memory for gets and puts.
  [[nodiscard]] static RemoteKey key_of(const void* address, std::size_t bytes) noexcept;

  // --- injected faults ---
  // Accepts and loses the next `messages` messages to it.
  void drop(int proc, unsigned messages) { peers_[proc].drops = messages; }
  // Holds back all messages that it has sent or sends; false: lets them arrive.
  void hold(int proc, bool holds) { peers_[proc].held = holds; }
  // Lets messages from it arrive before those that others have sent earlier.
  void overtake(int proc, bool overtakes = true) { peers_[proc].overtakes = overtakes; }
  // Returns "again" from the next `sends` sends to it.
  void refuse(int proc, unsigned sends) { peers_[proc].refuses = sends; }
  // Makes it fail: messages from it that have not arrived, and all messages to it, are lost. After `rounds` rounds the
  // path is reported as failed, all operations on it end with that error, and sends to it return an error.
  void vanish(int proc, unsigned rounds = 0);
  // Makes the next send to it fail, which reports the path as failed.
  void fail_at_send(int proc) { peers_[proc].fails = true; }
  // Completes gets, puts and flushes after this many rounds; kForEver: not until the test sets another number.
  void complete_after(unsigned rounds) noexcept { rounds_to_complete_ = rounds; }
  // Makes gets and puts without a key return an error.
  void refuse_memory(bool refuses) noexcept { refuses_memory_ = refuses; }
  // Sets the duration of gets and puts that complete before they return.
  void delay_copies(double seconds) noexcept { copy_seconds_ = seconds; }

  [[nodiscard]] unsigned rounds() const noexcept { return rounds_; }
  [[nodiscard]] unsigned connections(int proc) const;  // how often this process has connected to that one
  [[nodiscard]] unsigned copies() const noexcept { return copies_; }  // number of gets and puts that were started
  [[nodiscard]] std::size_t operations() const noexcept { return operations_.size(); }  // number of pending operations

 private:
  friend class Mock;
  struct Coming {
    std::uint64_t number;  // number in the order of sending, across processes
    Message message;
  };
  struct Peer {
    std::deque<Coming> coming;
    std::deque<Message> going;
    unsigned drops = 0;
    unsigned refuses = 0;
    bool held = false;
    bool overtakes = false;
    bool fails = false;
    std::optional<unsigned> gone_at;  // round in which its failure is reported
    bool reported = false;
  };
  struct Pending {
    enum class Kind : std::uint8_t { kGet, kPut, kFlush } kind;
    int proc;
    std::vector<RemotePart> parts;
    Operation* done;
    std::optional<unsigned> at;  // round in which it completes; none: not set yet
  };

  Status accept(int proc);
  Status gone(int proc, const Peer& peer);
  bool deliver();
  bool report_gone();
  bool complete_operations();
  void execute(const Pending& operation);
  void start(Pending operation);

  const Handlers& handlers_;
  int rank_;
  std::map<int, Peer> peers_;  // peers that the test has mentioned
  std::map<int, unsigned> connections_;
  std::deque<Pending> operations_;  // operations in the order in which they were started
  std::uint64_t sent_ = 0;
  unsigned rounds_ = 0;
  unsigned copies_ = 0;
  unsigned rounds_to_complete_ = 0;
  bool refuses_memory_ = false;
  double copy_seconds_ = 0;
};

// Returns the network of kRecord's transport; null if there is none.
[[nodiscard]] Network* network() noexcept;
// Sets the Caps of the transport that is made next.
void set_caps(const Caps& caps) noexcept;

extern const Record kRecord;

// A second transport that reaches the same processes. It is made only while caps are set for it.
[[nodiscard]] Network* second_network() noexcept;
void set_second_caps(const std::optional<Caps>& caps) noexcept;
extern const Record kSecondRecord;

}  // namespace hr::transport::mock
