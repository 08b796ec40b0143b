// mock: a job of several processes in one. This process is one of them; a test acts as the others through Network, and
// injects faults.
//
// A message to another process is kept until the test takes it; messages from other processes arrive in rounds of
// progress, one per round. Messages from one process stay in order; messages from several processes arrive in the order
// in which they were sent, unless the test changes that. Nothing happens by itself or after some time: the rounds of
// progress are the clock.
//
// The others' memory is memory of this process, so a RemoteKey holds an address. Gets and puts take effect on
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

  // --- the other processes, as the test acts for them ---
  // Sends a message from process `proc` to this one.
  void send_from(int proc, const Header& header, const void* payload = nullptr, std::size_t bytes = 0);
  // Removes and returns the oldest message to `proc`; nullopt if there is none.
  [[nodiscard]] std::optional<Message> take(int proc);
  [[nodiscard]] std::size_t waiting(int proc) const;  // number of messages to `proc` that have not been taken
  // Returns a key for gets from and puts to the memory.
  [[nodiscard]] static RemoteKey key_of(const void* address, std::size_t bytes) noexcept;

  // --- injected faults ---
  // Accepts and loses the next `messages` messages to `proc`.
  void drop(int proc, unsigned messages) { peers_[proc].drops = messages; }
  // Holds back messages from `proc`, already sent or yet to be sent, if `holds`; otherwise lets them arrive.
  void hold(int proc, bool holds) { peers_[proc].held = holds; }
  // Lets messages from `proc` arrive before earlier messages from others.
  void overtake(int proc, bool overtakes = true) { peers_[proc].overtakes = overtakes; }
  // Returns "again" from the next `sends` sends to `proc`.
  void refuse(int proc, unsigned sends) { peers_[proc].refuses = sends; }
  // Makes `proc` fail: its messages that have not arrived, and all messages to it, are lost. After `rounds` rounds, the
  // path is reported as failed, all operations on it end with that error, and sends to `proc` return an error.
  void vanish(int proc, unsigned rounds = 0);
  // Lets `proc` leave MPI; its messages that have not arrived still do.
  void leave(int proc) { peers_[proc].left = true; }
  // Makes the next send to `proc` fail, which reports the path as failed.
  void fail_at_send(int proc) { peers_[proc].fails = true; }
  // Completes gets, puts and flushes after this many rounds; kForEver: not until the test sets another number.
  void complete_after(unsigned rounds) noexcept { rounds_to_complete_ = rounds; }
  // Makes gets and puts without a key return an error.
  void refuse_memory(bool refuses) noexcept { refuses_memory_ = refuses; }
  // Sets the duration of gets and puts that complete before they return.
  void delay_copies(double seconds) noexcept { copy_seconds_ = seconds; }

  [[nodiscard]] unsigned rounds() const noexcept { return rounds_; }
  [[nodiscard]] unsigned connections(int proc) const;  // number of times that this process has connected to `proc`
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
    bool left = false;
    std::optional<unsigned> gone_at;  // round in which the peer's failure is reported
    bool reported = false;
  };
  struct Pending {
    enum class Kind : std::uint8_t { kGet, kPut, kFlush } kind;
    int proc;
    std::vector<RemotePart> parts;
    Operation* done;
    std::optional<unsigned> at;  // round in which the operation completes; nullopt: not set yet
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
// Sets the Caps of the next transport to be created.
void set_caps(const Caps& caps) noexcept;

extern const Record kRecord;

// A second transport that reaches the same processes. It is created only while caps are set for it.
[[nodiscard]] Network* second_network() noexcept;
void set_second_caps(const std::optional<Caps>& caps) noexcept;
extern const Record kSecondRecord;

}  // namespace hr::transport::mock
