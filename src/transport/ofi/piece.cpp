#include "transport/ofi/piece.hpp"

#include <rdma/fi_rma.h>

namespace hr::transport::ofi {
namespace {

ssize_t start_piece(Request& self) {
  auto& piece = static_cast<Piece&>(self);
  fid_ep* const endpoint = piece.fabric->endpoint();
  void* const descriptor = piece.registration.descriptor;
  if (!piece.write) {
    return ::fi_read(endpoint, piece.local, piece.bytes, descriptor, piece.line->address, piece.remote, piece.key,
                     &piece.room);
  }
  const iovec from{piece.local, piece.bytes};
  const fi_rma_iov to{piece.remote, piece.bytes, piece.key};
  void* descriptors[] = {descriptor};
  const fi_msg_rma message{.msg_iov = &from,
                           .desc = descriptors,
                           .iov_count = 1,
                           .addr = piece.line->address,
                           .rma_iov = &to,
                           .rma_iov_count = 1,
                           .context = &piece.room,
                           .data = 0};
  return ::fi_writemsg(endpoint, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
}

}  // namespace

Status Piece::prepare(Fabric& in, Line& to) {
  fabric = &in;
  line = &to;
  start = start_piece;
  return in.registers_local() ? in.add(local, bytes, write ? FI_WRITE : FI_READ, &registration) : kOk;
}

}  // namespace hr::transport::ofi
