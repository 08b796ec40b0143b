// Port: where processes of other jobs find this one (MPI 5.0 section 11.9.1), and the way to another one's.
//
// A port is a listening TCP socket, from open() to its end. Its name says where it is, and two secrets: who connects
// says the first and is answered with the second, so each knows the other for who has the name. It listens on the
// loopback interface where all that the launcher may start is on this host, else on an address of this host. Callers
// that do not say the secret in time are hung up on; a limited number of them is heard at a time. Owner: comm
// (MPI_Open_port), or the spawn that waits. Threads: library lock.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "boot/channel.hpp"

namespace hr::boot {

class Port {
 public:
  Port() = default;
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  // `beyond_host`: others than processes of this host may come. Errors: MPI_ERR_OTHER with the system's reason.
  Status open(bool beyond_host);
  // Printable, no blanks; far shorter than MPI_MAX_PORT_NAME.
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  // Somebody who has said the secret, who is then no longer waiting here; null: nobody so far. Does not wait.
  std::unique_ptr<Channel> accept();

 private:
  struct Caller {
    std::unique_ptr<Channel> channel;
    double until;
  };
  void listen_to_callers();

  int socket_ = -1;
  std::string name_;
  std::string secret_;
  std::string answer_;
  std::list<Caller> callers_;
};

// Connects to the port of that name. Errors: MPI_ERR_PORT where it is no port's name, or nobody listens there.
Status dial(const std::string& port_name, std::unique_ptr<Channel>* channel);

}  // namespace hr::boot
