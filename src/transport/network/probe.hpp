// Probes: connections that carry nothing, and show whether another host answers.
//
// The system ignores requests for connections to a process whose queue of connections is full, as a host does that
// cannot be reached. Anybody may fill the queue of a process that computes. To tell the two apart, every process also
// keeps a port at which nothing listens (ClosedPort), and publishes it: the system itself refuses every request to that
// port at once (HostProbe).
//
// Owner: a transport, or its peer. Threads: those of the owner.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace hr::transport::network {

// One request for a connection.
class Probe {
 public:
  Probe() = default;
  ~Probe() { close(); }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  // Sends the request, unless one is pending. False if this process has no descriptor or port for it.
  [[nodiscard]] bool begin(const sockaddr_storage& to) noexcept;
  [[nodiscard]] bool is_pending() const noexcept { return socket_ >= 0; }
  // True once there is an answer, or no hope of one; the probe is then closed. *error: 0 if a process listens there,
  // else the system's error.
  [[nodiscard]] bool answered(int* error) noexcept;
  void close() noexcept;

 private:
  int socket_ = -1;
  int error_ = 0;  // of a request that the system has not sent
};

// A port at which nothing listens, as long as this object exists.
class ClosedPort {
 public:
  ClosedPort() = default;
  ~ClosedPort() { close(); }
  ClosedPort(const ClosedPort&) = delete;
  ClosedPort& operator=(const ClosedPort&) = delete;

  // Takes any port at this address, whose own port is ignored. Returns 0, or the system's error.
  [[nodiscard]] int open(const sockaddr_storage& address) noexcept;
  void close() noexcept;
  // Returns the port in network byte order; 0: none.
  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

 private:
  int socket_ = -1;
  std::uint16_t port_ = 0;
};

// Finds out for how long the host of a process has been silent.
class HostProbe {
 public:
  // Returns for how many seconds the host has not answered, 0 if it has answered the last request; sends a request when
  // it is time for one. Called again and again while there is doubt. `closed`: the host's address, with the closed port
  // of the process.
  [[nodiscard]] double silent_seconds(const sockaddr_storage& closed, double now) noexcept;
  // True if the host has answered, and not been silent for a second since.
  [[nodiscard]] bool has_answered() const noexcept { return has_answered_; }
  // Ends the doubt.
  void stop() noexcept;

 private:
  static constexpr double kShortestPause = 0.25;
  static constexpr double kLongestPause = 4;
  static constexpr double kRepeat = 1;  // the system itself would repeat a request at intervals that double

  void take_answer(int error, double now) noexcept;

  Probe probe_;
  double asked_at_ = 0;      // time of the pending request
  double silent_since_ = 0;  // time of the first request since the last answer; 0: that was answered
  double next_ = 0;          // time of the next request
  double pause_ = kShortestPause;
  bool has_answered_ = false;
};

// Notes (HEADRACE_VERBOSE=1) that a process accepts no connections at `address`, although its host answers. `network`:
// name of the transport. `host`: name of the host; empty: not known.
void note_full_queue(std::string_view network, const std::string& process, const std::string& host,
                     const sockaddr_storage& address);

}  // namespace hr::transport::network
