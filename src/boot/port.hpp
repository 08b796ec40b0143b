// Port: an address at which processes of other jobs reach this process (MPI 5.0 section 11.9.1), and the connection to
// another process's port.
//
// A port is a listening TCP socket, from open() until the Port is destroyed. Its name contains its address and two
// secrets: the connecting side sends the first and receives the second as an answer, so each knows that the other has
// the name. The port listens on the loopback interface if all processes that the launcher may start are on this host,
// else on an address of this host. A caller that does not send the secret is dropped (callers.hpp). No message to the
// user contains the secrets. Owner: comm (MPI_Open_port), or the spawn that waits. Threads: library lock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "boot/callers.hpp"
#include "boot/channel.hpp"

namespace hr::boot {

class Port {
 public:
  Port() = default;
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // `beyond_host`: processes on other hosts may connect. Errors: MPI_ERR_OTHER with the system's reason.
  Status open(bool beyond_host);
  // Returns the port's name: printable, without blanks, and far shorter than MPI_MAX_PORT_NAME.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Removes and returns the connection to a caller that has sent the secret; null if there is none so far. Does not
  // wait.
  std::unique_ptr<Channel> accept();

 private:
  int socket_ = -1;
  std::string name_;
  std::optional<Callers> callers_;  // set once the port is open
};

// Returns the name without the secrets, for messages to the user.
[[nodiscard]] std::string shown_port(std::string_view port_name);

// Begins to connect to the port of that name; the channel's steps complete the connection. Errors: MPI_ERR_PORT if the
// name is not a port's name, or the system reports immediately that nothing listens there.
Status dial(const std::string& port_name, std::unique_ptr<Channel>* channel);

}  // namespace hr::boot
