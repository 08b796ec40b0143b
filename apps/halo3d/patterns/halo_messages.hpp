// The six packed messages of a step, one per axis and way, each with the planes of the three fields: their buffers,
// packing, and MPI calls, timed per axis.
//
// `staged`: MPI is passed host memory, and the planes are copied between this memory and the device. One message per
// axis and way is in flight at a time; the backend owns the buffers.
#pragma once

#include <mpi.h>

#include <array>

#include "pattern.hpp"

namespace halo3d {

class HaloMessages {
 public:
  HaloMessages(const Setup& setup, bool staged);

  // Packs both ways of an axis. Complete on return, so that MPI may use the buffers.
  void pack(int axis);
  void unpack(int axis);
  // Pack and unpack all axes at once; unpack_all() waits for the kernels only if `wait` is true. An axis's time is the
  // time to start its kernels; the last axis's time includes the wait.
  void pack_all();
  void unpack_all(bool wait);

  // Return the buffers, for patterns that pack or unpack them themselves.
  Faces to_send() const;
  Faces arrived() const;

  // Exchanges both ways of an axis consecutively, with blocking calls.
  enum class Call { kSendrecv, kIsendRecv };
  void exchange(int axis, Call call);

  // Creates twelve persistent requests, a receive and a send for each message, on `comm`, which has the same ranks as
  // the decomposition's communicator.
  static constexpr int kRequests = 2 * kAxes * kWays;
  std::array<MPI_Request, kRequests> make_persistent(MPI_Comm comm) const;
  // Counts the messages that the caller sends in a step.
  void count_all();

  // Start two receives and two sends, both ways of an axis, and wait for them.
  void post(int axis);
  void complete(int axis);

 private:
  struct Message {
    void *packed_send, *packed_receive;  // memory of the fields' kind
    void *send, *receive;                // passed to MPI
  };
  std::size_t bytes(int axis) const;
  void start_pack(int axis);
  void start_unpack(int axis);
  void count(int axis);

  const Setup setup_;
  const bool staged_;
  MPI_Datatype type_;
  std::array<int, kAxes> elements_;
  std::array<std::array<Message, kWays>, kAxes> messages_;
  std::array<std::array<MPI_Request, 2 * kWays>, kAxes> requests_;
};

}  // namespace halo3d
