// Port: an address at which processes of other jobs find this one (MPI 5.0 section 11.9.1), and the way to another
// process's port.
//
// A port is a listening TCP socket, from open() to its end. Its name contains its address and two secrets: the
// connecting side sends the first and is answered with the second, so each knows that the other has the name. It
// listens on the loopback interface if all that the launcher may start is on this host, else on an address of this
// host. A caller that does not send the secret is dropped (callers.hpp). The secrets appear in no message. Owner: comm
// (MPI_Open_port), or the spawn that waits. Threads: library lock.
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

  // `beyond_host`: processes of other hosts may come. Errors: MPI_ERR_OTHER with the system's reason.
  Status open(bool beyond_host);
  // Printable, no blanks; far shorter than MPI_MAX_PORT_NAME.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Returns a caller that has sent the secret, and removes it from those waiting here; null: none so far. Does not
  // wait.
  std::unique_ptr<Channel> accept();

 private:
  int socket_ = -1;
  std::string name_;
  std::optional<Callers> callers_;  // once it is open
};

// Returns the name as a message may show it: without the secrets.
[[nodiscard]] std::string shown_port(std::string_view port_name);

// Begins to connect to the port of that name; the channel's steps do the rest. Errors: MPI_ERR_PORT if it is not a
// port's name, or it is known at once that the port has no listener.
Status dial(const std::string& port_name, std::unique_ptr<Channel>* channel);

}  // namespace hr::boot
