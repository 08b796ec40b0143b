// The six packed messages of a step, one a direction and way, each with the planes of the three fields: their buffers,
// packing, and MPI calls, timed by direction.
//
// `staged`: MPI sees host memory, and the planes are copied between it and the device. One message of a kind is in
// flight at a time; the backend owns the buffers.
#pragma once

#include <mpi.h>

#include <array>

#include "pattern.hpp"

namespace halo3d {

class HaloMessages {
 public:
  HaloMessages(const Setup& setup, bool staged);

  // Both ways of a direction. Complete on return, so that MPI may have the buffers.
  void pack(int axis);
  void unpack(int axis);
  // The same for all directions at once, waiting only when `wait`; timed by direction as far as they are started.
  void pack_all();
  void unpack_all(bool wait);

  // The same buffers, for who packs and unpacks otherwise.
  Faces to_send() const;
  Faces arrived() const;

  // Blocking, both ways of a direction one after the other.
  enum class Call { kSendrecv, kIsendRecv };
  void exchange(int axis, Call call);

  // Both ways of a direction: two receives and two sends started, and waited for.
  void post(int axis);
  void complete(int axis);

 private:
  struct Message {
    void *packed_send, *packed_receive;  // of the fields' kind
    void *send, *receive;                // what MPI sees
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
