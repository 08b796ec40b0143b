// One rank's side of an exchange: a buffer of the planned kind and layout, its MPI operation, and afterwards the check
// of every byte of the message, of the gaps, and of the guards around them.
#pragma once

#include <mpi.h>

#include <vector>

#include "layout.hpp"
#include "plan.hpp"

namespace random_exchange {

class Endpoint {
 public:
  enum class Side { kSend, kReceive };

  Endpoint(const Settings& settings, const Exchange& exchange, Side side);

  const Exchange& exchange() const { return exchange_; }
  // Starts the operation, or completes it if the plan requires that, in which case request() is null.
  void start(MPI_Comm comm);
  void receive_matched(MPI_Message* message, MPI_Status* status);
  MPI_Request& request() { return request_; }
  MPI_Status& status() { return status_; }
  // Checks the status and the buffer. Called after completion.
  void finish();

 private:
  void start_send(MPI_Comm comm);
  void start_receive(MPI_Comm comm);
  void check_status() const;
  void check_buffer() const;
  unsigned char* address() const { return reinterpret_cast<unsigned char*>(memory_.bytes()) + layout_.origin(); }

  const Exchange& exchange_;
  Side side_;
  Layout layout_;
  hr::test::DeviceMemory memory_;
  std::vector<unsigned char> expected_;  // content of the buffer after the operation
  MPI_Request request_ = MPI_REQUEST_NULL;
  MPI_Status status_;
  bool persistent_ = false;
};

}  // namespace random_exchange
