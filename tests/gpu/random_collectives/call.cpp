#include "call.hpp"

#include <algorithm>

#include "common/check.hpp"

namespace random_collectives {

const char* name_of(What what) {
  constexpr const char* kNames[] = {"barrier",
                                    "bcast",
                                    "gather",
                                    "gatherv",
                                    "scatter",
                                    "scatterv",
                                    "allgather",
                                    "allgatherv",
                                    "alltoall",
                                    "alltoallv",
                                    "alltoallw",
                                    "reduce",
                                    "allreduce",
                                    "reduce_scatter_block",
                                    "reduce_scatter",
                                    "scan",
                                    "exscan",
                                    "neighbor_allgather",
                                    "neighbor_allgatherv",
                                    "neighbor_alltoall",
                                    "neighbor_alltoallv",
                                    "neighbor_alltoallw"};
  return kNames[static_cast<int>(what)];
}

std::string describe(const Call& call) {
  constexpr const char* kForms[] = {"", "non-blocking ", "persistent "};
  return "call " + std::to_string(call.number) + ", " + kForms[static_cast<int>(call.form)] + name_of(call.what) +
         (call.operation != nullptr ? " of " + call.operation->name : "") + " on " + call.group->name +
         (call.in_place ? ", in place" : "") + ", count " + std::to_string(call.count) + " of " + call.type->name +
         ", root " + std::to_string(call.root);
}

Pending::Pending(const Call& call, const Place& send, const Place& receive)
    : call_(call),
      group_(*call.group),
      restarts_(call.form == Form::kPersistent && !call.in_place),
      send_place_(send),
      receive_place_(receive) {
  if (call.operation != nullptr) send_place_.gaps = receive_place_.gaps = false;  // operations need types without gaps
  using Start = void (Pending::*)();
  constexpr Start kStarts[] = {&Pending::barrier,
                               &Pending::bcast,
                               &Pending::gather,
                               &Pending::gatherv,
                               &Pending::scatter,
                               &Pending::scatterv,
                               &Pending::allgather,
                               &Pending::allgatherv,
                               &Pending::alltoall,
                               &Pending::alltoallv,
                               &Pending::alltoallw,
                               &Pending::reduce,
                               &Pending::allreduce,
                               &Pending::reduce_scatter_block,
                               &Pending::reduce_scatter,
                               &Pending::scan,
                               &Pending::exscan,
                               &Pending::neighbor_allgather,
                               &Pending::neighbor_allgatherv,
                               &Pending::neighbor_alltoall,
                               &Pending::neighbor_alltoallv,
                               &Pending::neighbor_alltoallw};
  static_assert(std::size(kStarts) == kWhats);
  (this->*kStarts[static_cast<int>(call.what)])();
}

template <class Blocking, class Nonblocking, class Persistent, class... Arguments>
void Pending::begin(Blocking blocking, Nonblocking nonblocking, Persistent persistent, Arguments... arguments) {
  if (send_ != nullptr) send_->upload();
  if (receive_ != nullptr) receive_->upload();
  switch (call_.form) {
    case Form::kBlocking:
      CHECK_OK(blocking(arguments...));
      break;
    case Form::kNonblocking:
      CHECK_OK(nonblocking(arguments..., &request_));
      break;
    case Form::kPersistent:
      CHECK_OK(persistent(arguments..., MPI_INFO_NULL, &request_));
      CHECK_OK(MPI_Start(&request_));
      break;
  }
}
// The initial is separate, as its case differs: BEGIN(B, b, cast, ...) is MPI_Bcast, MPI_Ibcast or MPI_Bcast_init.
#define BEGIN(Initial, initial, rest, ...) \
  begin(MPI_##Initial##rest, MPI_I##initial##rest, MPI_##Initial##rest##_init, __VA_ARGS__)

void Pending::finish() {
  const std::string what = describe(call_);
  if (send_ != nullptr) send_->verify(what + ", send buffer");
  if (receive_ != nullptr) receive_->verify(what + ", receive buffer");
  if (call_.form != Form::kPersistent) return;
  if (restarts_) {
    CHECK_OK(MPI_Start(&request_));
    CHECK_OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));
    if (receive_ != nullptr) receive_->verify(what + ", receive buffer after the second start");
  }
  CHECK_OK(MPI_Request_free(&request_));
}

void Pending::Blocks::add(int count, int gap) {
  counts.push_back(count);
  displacements.push_back(elements);
  elements += count + gap;
}

void Pending::Blocks::measure(const Area& area) {
  bytes.clear();
  for (const int displacement : displacements) bytes.push_back(displacement * area.distance());
  types.assign(counts.size(), area.type());
}

Element Pending::value(int rank, int index) const {
  return value_of(call_.number, rank, index, call_.operation != nullptr ? call_.operation->values : Values::kSmall);
}

Element Pending::reduced(int ranks, int index) const {
  Element result = value(0, index);
  for (int rank = 1; rank < ranks; ++rank) result = call_.operation->combine(result, value(rank, index));
  return result;
}

int Pending::length(int a, int b) const {
  return call_.count == 0 ? 0 : (call_.count / 2 + (a + b) * 5 + call_.number) % (call_.count + 1);
}
int Pending::block(int sender, int receiver, int index) const { return (sender + receiver * 64) * 65536 * 8 + index; }

void Pending::put_operand(int count) {
  if (call_.in_place) {
    for (int i = 0; i < count; ++i) receive_->set(i, value(group_.rank, i));
  } else {
    make_send(count);
    for (int i = 0; i < count; ++i) send_->set(i, value(group_.rank, i));
  }
}

// begin() uploads the values set before it, so results are set after it: in every function below, the lines after BEGIN
// describe the buffers after the call.

void Pending::barrier() {
  switch (call_.form) {
    case Form::kBlocking:
      CHECK_OK(MPI_Barrier(group_.comm));
      break;
    case Form::kNonblocking:
      CHECK_OK(MPI_Ibarrier(group_.comm, &request_));
      break;
    case Form::kPersistent:
      CHECK_OK(MPI_Barrier_init(group_.comm, MPI_INFO_NULL, &request_));
      CHECK_OK(MPI_Start(&request_));
      break;
  }
}

void Pending::bcast() {
  make_receive(call_.count);
  if (group_.rank == call_.root) {
    for (int i = 0; i < call_.count; ++i) receive_->set(i, value(call_.root, i));
  }
  BEGIN(B, b, cast, receive_->address(), call_.count, receive_->type(), call_.root, group_.comm);
  for (int i = 0; i < call_.count; ++i) receive_->expect(i, value(call_.root, i));
}

void Pending::gather() {
  const bool root = group_.rank == call_.root;
  const int count = call_.count;
  call_.in_place = call_.in_place && root;
  make_receive(root ? count * group_.size : 0);
  make_send(count);
  for (int i = 0; i < count; ++i) {
    send_->set(i, value(group_.rank, i));
    if (call_.in_place) receive_->set(group_.rank * count + i, value(group_.rank, i));
  }
  BEGIN(G, g, ather, send_address(), count, send_->type(), receive_->address(), count, receive_->type(), call_.root,
        group_.comm);
  for (int rank = 0; root && rank < group_.size; ++rank) {
    for (int i = 0; i < count; ++i) receive_->expect(rank * count + i, value(rank, i));
  }
}

void Pending::gatherv() {
  const bool root = group_.rank == call_.root;
  call_.in_place = call_.in_place && root;
  for (int rank = 0; rank < group_.size; ++rank) receive_blocks_.add(length(rank, 0), rank % 2);
  const int own = length(group_.rank, 0);
  make_receive(root ? receive_blocks_.elements : 0);
  make_send(own);
  const int start = receive_blocks_.displacements[static_cast<std::size_t>(group_.rank)];
  for (int i = 0; i < own; ++i) {
    send_->set(i, value(group_.rank, i));
    if (call_.in_place) receive_->set(start + i, value(group_.rank, i));
  }
  BEGIN(G, g, atherv, send_address(), own, send_->type(), receive_->address(), receive_blocks_.counts.data(),
        receive_blocks_.displacements.data(), receive_->type(), call_.root, group_.comm);
  for (int rank = 0; root && rank < group_.size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    for (int i = 0; i < receive_blocks_.counts[at]; ++i) {
      receive_->expect(receive_blocks_.displacements[at] + i, value(rank, i));
    }
  }
}

void Pending::scatter() {
  const bool root = group_.rank == call_.root;
  const int count = call_.count;
  call_.in_place = call_.in_place && root;
  make_send(root ? count * group_.size : 0);
  make_receive(call_.in_place ? 0 : count);
  for (int i = 0; root && i < count * group_.size; ++i) send_->set(i, value(call_.root, i));
  BEGIN(S, s, catter, send_->address(), count, send_->type(), call_.in_place ? MPI_IN_PLACE : receive_->address(),
        count, receive_->type(), call_.root, group_.comm);
  for (int i = 0; !call_.in_place && i < count; ++i) {
    receive_->expect(i, value(call_.root, group_.rank * count + i));
  }
}

void Pending::scatterv() {
  const bool root = group_.rank == call_.root;
  call_.in_place = call_.in_place && root;
  for (int rank = 0; rank < group_.size; ++rank) send_blocks_.add(length(rank, 0), rank % 2);
  const int own = length(group_.rank, 0);
  make_send(root ? send_blocks_.elements : 0);
  make_receive(call_.in_place ? 0 : own);
  for (int i = 0; root && i < send_blocks_.elements; ++i) send_->set(i, value(call_.root, i));
  BEGIN(S, s, catterv, send_->address(), send_blocks_.counts.data(), send_blocks_.displacements.data(), send_->type(),
        call_.in_place ? MPI_IN_PLACE : receive_->address(), own, receive_->type(), call_.root, group_.comm);
  const int start = send_blocks_.displacements[static_cast<std::size_t>(group_.rank)];
  for (int i = 0; !call_.in_place && i < own; ++i) receive_->expect(i, value(call_.root, start + i));
}

// Puts the block that this rank contributes into the send buffer and, in place, also into the receive buffer.
void Pending::put_all_gather(const Blocks& blocks) {
  const auto me = static_cast<std::size_t>(group_.rank);
  make_receive(blocks.elements);
  make_send(blocks.counts[me]);
  for (int i = 0; i < blocks.counts[me]; ++i) {
    send_->set(i, value(group_.rank, i));
    if (call_.in_place) receive_->set(blocks.displacements[me] + i, value(group_.rank, i));
  }
}

void Pending::allgather() {
  for (int rank = 0; rank < group_.size; ++rank) receive_blocks_.add(call_.count, 0);
  put_all_gather(receive_blocks_);
  BEGIN(A, a, llgather, send_address(), call_.count, send_->type(), receive_->address(), call_.count, receive_->type(),
        group_.comm);
  for (int i = 0; i < call_.count * group_.size; ++i) {
    receive_->expect(i, value(i / call_.count, i % call_.count));
  }
}

void Pending::allgatherv() {
  for (int rank = 0; rank < group_.size; ++rank) receive_blocks_.add(length(rank, 1), rank % 2);
  put_all_gather(receive_blocks_);
  BEGIN(A, a, llgatherv, send_address(), length(group_.rank, 1), send_->type(), receive_->address(),
        receive_blocks_.counts.data(), receive_blocks_.displacements.data(), receive_->type(), group_.comm);
  for (int rank = 0; rank < group_.size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    for (int i = 0; i < receive_blocks_.counts[at]; ++i) {
      receive_->expect(receive_blocks_.displacements[at] + i, value(rank, i));
    }
  }
}

// Puts a block for every rank, from the send buffer or, in place, from the receive buffer.
void Pending::put_all_to_all(bool vector) {
  for (int rank = 0; rank < group_.size; ++rank) {
    const int count = vector ? length(group_.rank, rank) : call_.count;
    send_blocks_.add(count, vector ? rank % 2 : 0);
    receive_blocks_.add(count, vector ? (rank + 1) % 2 : 0);
  }
  make_send(send_blocks_.elements);
  make_receive(receive_blocks_.elements);
  const Blocks& from = call_.in_place ? receive_blocks_ : send_blocks_;
  for (int rank = 0; rank < group_.size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    for (int i = 0; i < from.counts[at]; ++i) {
      Area& area = call_.in_place ? *receive_ : *send_;
      area.set(from.displacements[at] + i, value(group_.rank, block(group_.rank, rank, i)));
    }
  }
  send_blocks_.measure(*send_);
  receive_blocks_.measure(*receive_);
}

void Pending::alltoall() {
  put_all_to_all(false);
  BEGIN(A, a, lltoall, send_address(), call_.count, send_->type(), receive_->address(), call_.count, receive_->type(),
        group_.comm);
  for (int i = 0; i < call_.count * group_.size; ++i) {
    const int rank = i / call_.count;
    receive_->expect(i, value(rank, block(rank, group_.rank, i % call_.count)));
  }
}

void Pending::alltoallv() {
  put_all_to_all(true);
  BEGIN(A, a, lltoallv, send_address(), send_blocks_.counts.data(), send_blocks_.displacements.data(), send_->type(),
        receive_->address(), receive_blocks_.counts.data(), receive_blocks_.displacements.data(), receive_->type(),
        group_.comm);
  for (int rank = 0; rank < group_.size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    for (int i = 0; i < receive_blocks_.counts[at]; ++i) {
      receive_->expect(receive_blocks_.displacements[at] + i, value(rank, block(rank, group_.rank, i)));
    }
  }
}

void Pending::alltoallw() {
  put_all_to_all(true);
  std::vector<int> sent, received;  // displacements in bytes
  for (const MPI_Aint bytes : send_blocks_.bytes) sent.push_back(static_cast<int>(bytes));
  for (const MPI_Aint bytes : receive_blocks_.bytes) received.push_back(static_cast<int>(bytes));
  std::swap(send_blocks_.displacements, sent);
  std::swap(receive_blocks_.displacements, received);  // `received` has elements again
  BEGIN(A, a, lltoallw, send_address(), send_blocks_.counts.data(), send_blocks_.displacements.data(),
        send_blocks_.types.data(), receive_->address(), receive_blocks_.counts.data(),
        receive_blocks_.displacements.data(), receive_blocks_.types.data(), group_.comm);
  for (int rank = 0; rank < group_.size; ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    for (int i = 0; i < receive_blocks_.counts[at]; ++i) {
      receive_->expect(received[at] + i, value(rank, block(rank, group_.rank, i)));
    }
  }
}

void Pending::reduce() {
  const bool root = group_.rank == call_.root;
  call_.in_place = call_.in_place && root;
  make_receive(root ? call_.count : 0);
  put_operand(call_.count);
  BEGIN(R, r, educe, send_address(), receive_->address(), call_.count, call_.type->type, call_.operation->op,
        call_.root, group_.comm);
  for (int i = 0; root && i < call_.count; ++i) receive_->expect(i, reduced(group_.size, i));
}

void Pending::allreduce() {
  make_receive(call_.count);
  put_operand(call_.count);
  BEGIN(A, a, llreduce, send_address(), receive_->address(), call_.count, call_.type->type, call_.operation->op,
        group_.comm);
  for (int i = 0; i < call_.count; ++i) receive_->expect(i, reduced(group_.size, i));
}

void Pending::reduce_scatter_block() {
  const int total = call_.count * group_.size;
  make_receive(call_.in_place ? total : call_.count);
  put_operand(total);
  BEGIN(R, r, educe_scatter_block, send_address(), receive_->address(), call_.count, call_.type->type,
        call_.operation->op, group_.comm);
  for (int i = 0; i < call_.count; ++i) receive_->expect(i, reduced(group_.size, group_.rank * call_.count + i));
  for (int i = call_.count; call_.in_place && i < total; ++i) receive_->ignore(i);
}

void Pending::reduce_scatter() {
  for (int rank = 0; rank < group_.size; ++rank) receive_blocks_.add(length(rank, 2), 0);
  const auto me = static_cast<std::size_t>(group_.rank);
  const int own = receive_blocks_.counts[me];
  make_receive(call_.in_place ? receive_blocks_.elements : own);
  put_operand(receive_blocks_.elements);
  BEGIN(R, r, educe_scatter, send_address(), receive_->address(), receive_blocks_.counts.data(), call_.type->type,
        call_.operation->op, group_.comm);
  for (int i = 0; i < own; ++i) {
    receive_->expect(i, reduced(group_.size, receive_blocks_.displacements[me] + i));
  }
  for (int i = own; call_.in_place && i < receive_blocks_.elements; ++i) receive_->ignore(i);
}

void Pending::scan() {
  make_receive(call_.count);
  put_operand(call_.count);
  BEGIN(S, s, can, send_address(), receive_->address(), call_.count, call_.type->type, call_.operation->op,
        group_.comm);
  for (int i = 0; i < call_.count; ++i) receive_->expect(i, reduced(group_.rank + 1, i));
}

void Pending::exscan() {
  make_receive(call_.count);
  put_operand(call_.count);
  BEGIN(E, e, xscan, send_address(), receive_->address(), call_.count, call_.type->type, call_.operation->op,
        group_.comm);
  for (int i = 0; i < call_.count; ++i) {
    if (group_.rank == 0) {
      receive_->ignore(i);
    } else {
      receive_->expect(i, reduced(group_.rank, i));
    }
  }
}

// Puts blocks for and from the neighbours of a grid that is periodic in all dimensions: a block sent in one direction
// arrives from the other.
void Pending::put_neighbours(bool vector, bool all_to_all) {
  const int slots = static_cast<int>(group_.neighbours.size());
  for (int slot = 0; slot < slots; ++slot) {
    const int neighbour = group_.neighbours[static_cast<std::size_t>(slot)];
    const int sent = !vector ? call_.count : length(group_.rank, all_to_all ? neighbour : 0);
    const int received = !vector ? call_.count : length(neighbour, all_to_all ? group_.rank : 0);
    send_blocks_.add(sent, vector ? slot % 2 : 0);
    receive_blocks_.add(received, vector ? 1 : 0);
  }
  call_.in_place = false;
  make_send(all_to_all ? send_blocks_.elements : length(group_.rank, 0) + call_.count);
  make_receive(receive_blocks_.elements);
  if (!all_to_all) {
    const int count = vector ? length(group_.rank, 0) : call_.count;
    for (int i = 0; i < count; ++i) send_->set(i, value(group_.rank, i));
  }
  for (int slot = 0; all_to_all && slot < slots; ++slot) {
    const auto at = static_cast<std::size_t>(slot);
    for (int i = 0; i < send_blocks_.counts[at]; ++i) {
      send_->set(send_blocks_.displacements[at] + i, value(group_.rank, block(0, slot, i)));
    }
  }
  send_blocks_.measure(*send_);
  receive_blocks_.measure(*receive_);
}

void Pending::expect_neighbours(bool all_to_all) {
  for (std::size_t slot = 0; slot < group_.neighbours.size(); ++slot) {
    const int neighbour = group_.neighbours[slot];
    for (int i = 0; i < receive_blocks_.counts[slot]; ++i) {
      const int index = all_to_all ? block(0, static_cast<int>(slot) ^ 1, i) : i;
      receive_->expect(receive_blocks_.displacements[slot] + i, value(neighbour, index));
    }
  }
}

void Pending::neighbor_allgather() {
  put_neighbours(false, false);
  BEGIN(N, n, eighbor_allgather, send_->address(), call_.count, send_->type(), receive_->address(), call_.count,
        receive_->type(), group_.comm);
  expect_neighbours(false);
}

void Pending::neighbor_allgatherv() {
  put_neighbours(true, false);
  BEGIN(N, n, eighbor_allgatherv, send_->address(), length(group_.rank, 0), send_->type(), receive_->address(),
        receive_blocks_.counts.data(), receive_blocks_.displacements.data(), receive_->type(), group_.comm);
  expect_neighbours(false);
}

void Pending::neighbor_alltoall() {
  put_neighbours(false, true);
  BEGIN(N, n, eighbor_alltoall, send_->address(), call_.count, send_->type(), receive_->address(), call_.count,
        receive_->type(), group_.comm);
  expect_neighbours(true);
}

void Pending::neighbor_alltoallv() {
  put_neighbours(true, true);
  BEGIN(N, n, eighbor_alltoallv, send_->address(), send_blocks_.counts.data(), send_blocks_.displacements.data(),
        send_->type(), receive_->address(), receive_blocks_.counts.data(), receive_blocks_.displacements.data(),
        receive_->type(), group_.comm);
  expect_neighbours(true);
}

void Pending::neighbor_alltoallw() {
  put_neighbours(true, true);
  BEGIN(N, n, eighbor_alltoallw, send_->address(), send_blocks_.counts.data(), send_blocks_.bytes.data(),
        send_blocks_.types.data(), receive_->address(), receive_blocks_.counts.data(), receive_blocks_.bytes.data(),
        receive_blocks_.types.data(), group_.comm);
  expect_neighbours(true);
}

}  // namespace random_collectives
