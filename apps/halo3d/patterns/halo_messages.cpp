#include "patterns/halo_messages.hpp"

#include "patterns/typed_planes.hpp"

namespace halo3d {
namespace {

int tag_of(int axis, int way) { return axis * kWays + way; }

}  // namespace

HaloMessages::HaloMessages(const Setup& setup, bool staged)
    : setup_(setup), staged_(staged), type_(element_type(setup.decomposition.shape())) {
  for (int axis = 0; axis < kAxes; ++axis) {
    elements_[axis] = static_cast<int>(kFields * send_box(setup.decomposition.shape(), axis, 0).volume());
    for (Message& message : messages_[axis]) {
      message.packed_send = setup.backend.allocate(bytes(axis));
      message.packed_receive = setup.backend.allocate(bytes(axis));
      message.send = staged ? setup.backend.allocate_host(bytes(axis)) : message.packed_send;
      message.receive = staged ? setup.backend.allocate_host(bytes(axis)) : message.packed_receive;
    }
    requests_[axis].fill(MPI_REQUEST_NULL);
  }
}

std::size_t HaloMessages::bytes(int axis) const {
  return static_cast<std::size_t>(elements_[axis]) *
         static_cast<std::size_t>(setup_.decomposition.shape().element_bytes);
}

void HaloMessages::count(int axis) {
  setup_.times.messages += 1;
  setup_.times.bytes += static_cast<double>(bytes(axis));
}

void HaloMessages::start_pack(int axis) {
  for (int way = 0; way < kWays; ++way) {
    const Message& message = messages_[axis][way];
    setup_.backend.pack(send_box(setup_.decomposition.shape(), axis, way), 0, kFields, message.packed_send);
    if (staged_) setup_.backend.copy(message.send, message.packed_send, bytes(axis));
  }
}

void HaloMessages::start_unpack(int axis) {
  for (int way = 0; way < kWays; ++way) {
    const Message& message = messages_[axis][way];
    if (staged_) setup_.backend.copy(message.packed_receive, message.receive, bytes(axis));
    setup_.backend.unpack(receive_box(setup_.decomposition.shape(), axis, way), 0, kFields, message.packed_receive);
  }
}

void HaloMessages::pack(int axis) {
  const Stopwatch watch(setup_.times.pack[axis]);
  start_pack(axis);
  setup_.backend.wait();
}

void HaloMessages::unpack(int axis) {
  const Stopwatch watch(setup_.times.unpack[axis]);
  start_unpack(axis);
  setup_.backend.wait();
}

void HaloMessages::pack_all() {
  for (int axis = 0; axis < kAxes; ++axis) {
    const Stopwatch watch(setup_.times.pack[axis]);
    start_pack(axis);
    if (axis == kAxes - 1) setup_.backend.wait();  // a single wait: the kernels of all axes run concurrently
  }
}

void HaloMessages::unpack_all(bool wait) {
  for (int axis = 0; axis < kAxes; ++axis) {
    const Stopwatch watch(setup_.times.unpack[axis]);
    start_unpack(axis);
    if (wait && axis == kAxes - 1) setup_.backend.wait();
  }
}

Faces HaloMessages::to_send() const {
  Faces faces;
  for (int face = 0; face < kAxes * kWays; ++face) {
    faces[face / kWays][face % kWays] = messages_[face / kWays][face % kWays].packed_send;
  }
  return faces;
}

Faces HaloMessages::arrived() const {
  Faces faces;
  for (int face = 0; face < kAxes * kWays; ++face) {
    faces[face / kWays][face % kWays] = messages_[face / kWays][face % kWays].packed_receive;
  }
  return faces;
}

void HaloMessages::exchange(int axis, Call call) {
  const Decomposition& ranks = setup_.decomposition;
  const Stopwatch watch(setup_.times.mpi[axis]);
  for (int way = 0; way < kWays; ++way) {
    const Message& message = messages_[axis][way];
    const int to = ranks.neighbour(axis, way), from = ranks.neighbour(axis, 1 - way), tag = tag_of(axis, way);
    if (call == Call::kSendrecv) {
      MPI_Sendrecv(message.send, elements_[axis], type_, to, tag, message.receive, elements_[axis], type_, from, tag,
                   ranks.comm(), MPI_STATUS_IGNORE);
    } else {
      MPI_Request request;
      MPI_Isend(message.send, elements_[axis], type_, to, tag, ranks.comm(), &request);
      MPI_Recv(message.receive, elements_[axis], type_, from, tag, ranks.comm(), MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    count(axis);
  }
}

void HaloMessages::post(int axis) {
  const Decomposition& ranks = setup_.decomposition;
  const Stopwatch watch(setup_.times.mpi[axis]);
  MPI_Request* request = requests_[axis].data();
  for (int way = 0; way < kWays; ++way) {
    MPI_Irecv(messages_[axis][way].receive, elements_[axis], type_, ranks.neighbour(axis, 1 - way), tag_of(axis, way),
              ranks.comm(), request++);
  }
  for (int way = 0; way < kWays; ++way) {
    MPI_Isend(messages_[axis][way].send, elements_[axis], type_, ranks.neighbour(axis, way), tag_of(axis, way),
              ranks.comm(), request++);
    count(axis);
  }
}

std::array<MPI_Request, HaloMessages::kRequests> HaloMessages::make_persistent(MPI_Comm comm) const {
  const Decomposition& ranks = setup_.decomposition;
  std::array<MPI_Request, kRequests> made;
  MPI_Request* request = made.data();
  for (int axis = 0; axis < kAxes; ++axis) {
    for (int way = 0; way < kWays; ++way) {
      MPI_Recv_init(messages_[axis][way].receive, elements_[axis], type_, ranks.neighbour(axis, 1 - way),
                    tag_of(axis, way), comm, request++);
      MPI_Send_init(messages_[axis][way].send, elements_[axis], type_, ranks.neighbour(axis, way), tag_of(axis, way),
                    comm, request++);
    }
  }
  return made;
}

void HaloMessages::count_all() {
  for (int face = 0; face < kAxes * kWays; ++face) count(face / kWays);
}

void HaloMessages::complete(int axis) {
  const Stopwatch watch(setup_.times.mpi[axis]);
  MPI_Waitall(2 * kWays, requests_[axis].data(), MPI_STATUSES_IGNORE);
}

}  // namespace halo3d
