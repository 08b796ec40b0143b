// Pieces of the operations that move data: their senders, readers and targets.
//
// Threads: library lock. Standard: sections 6.4 to 6.8, 8.6.
#pragma once

#include "coll/device/addresses.hpp"

namespace hr::coll::device {

// Calls give(blocks, block, reader) for each piece that this process sends, including empty ones.
template <class Give>
Status each_given(const Call& call, const Give& give) {
  const int rank = call.rank();
  switch (call.operation) {
    case Operation::kBcast:
      return call.is_root() ? give(call.recv, 0, kEverybody) : kOk;
    case Operation::kGather:
    case Operation::kGatherv:
      return call.send.none() ? kOk : give(call.send, 0, call.root);
    case Operation::kAllgather:
    case Operation::kAllgatherv:
      return call.in_place ? give(call.recv, rank, kEverybody) : give(call.send, 0, kEverybody);
    case Operation::kNeighborAllgather:
    case Operation::kNeighborAllgatherv:
      return give(call.send, 0, kEverybody);
    case Operation::kScatter:
    case Operation::kScatterv:
      if (!call.is_root()) return kOk;
      [[fallthrough]];
    case Operation::kAlltoall:
    case Operation::kAlltoallv:
    case Operation::kAlltoallw:
      for (int reader = 0; reader < call.size(); ++reader) HR_TRY(give(call.send, reader, reader));
      return kOk;
    default:
      break;
  }
  const comm::Topology::Neighbors neighbors = call.members->topology().neighbors(rank);
  for (std::size_t neighbor = 0; neighbor < neighbors.destinations.size(); ++neighbor) {
    const int reader = neighbors.destinations[neighbor];
    if (reader != abi::kProcNull) HR_TRY(give(call.send, static_cast<int>(neighbor), reader));
  }
  return kOk;
}

// Identifies a piece by its number among all pieces that its source published, or among the source's pieces for one
// reader.
struct PieceName {
  int source;
  std::uint32_t number;
  bool of_reader = false;
};

// Calls take(name, block of recv) for each piece that this process receives, beginning with the pieces of the next
// rank, so that not all processes read from the same process first.
template <class Take>
Status each_taken(const Call& call, const Take& take) {
  const int rank = call.rank();
  const auto mine = static_cast<std::uint32_t>(rank);
  switch (call.operation) {
    case Operation::kBcast:
      return call.is_root() ? kOk : take(PieceName{call.root, 0}, 0);
    case Operation::kScatter:
    case Operation::kScatterv:
      return call.recv.none() ? kOk : take(PieceName{call.root, mine}, 0);
    case Operation::kGather:
    case Operation::kGatherv:
      if (!call.is_root()) return kOk;
      [[fallthrough]];
    case Operation::kAllgather:
    case Operation::kAllgatherv:
    case Operation::kAlltoall:
    case Operation::kAlltoallv:
    case Operation::kAlltoallw: {
      const bool one_each = call.operation >= Operation::kAlltoall;
      for (int i = 1; i <= call.size(); ++i) {
        const int source = (rank + i) % call.size();
        if (source == rank && call.in_place) continue;
        HR_TRY(take(PieceName{source, one_each ? mine : 0}, source));
      }
      return kOk;
    }
    default:
      break;
  }
  // Pairs the pieces as messages would match (neighbor/linear.cpp): the pieces between two processes in the order of
  // the receiver's slots, with the two directions of a grid's dimension exchanged.
  const comm::Topology& topology = call.members->topology();
  const std::vector<int> sources = topology.neighbors(rank).sources;
  const std::size_t flip = topology.kind() == comm::Topology::Kind::kCartesian ? 1 : 0;
  const bool one_for_all =
      call.operation == Operation::kNeighborAllgather || call.operation == Operation::kNeighborAllgatherv;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const int source = sources[i ^ flip];
    if (source == abi::kProcNull) continue;
    PieceName name{source, 0, !one_for_all};
    for (std::size_t before = 0; before < i && !one_for_all; ++before) {
      if (sources[before ^ flip] == source) ++name.number;
    }
    HR_TRY(take(name, static_cast<int>(i ^ flip)));
  }
  return kOk;
}

// Returns the piece; null if there is none.
[[nodiscard]] inline const Piece* find_piece(const DeviceAddresses& addresses, const PieceName& name,
                                             int reader) noexcept {
  if (!name.of_reader) return name.number < addresses.piece_count ? &addresses.pieces[name.number] : nullptr;
  std::uint32_t left = name.number;
  for (std::uint32_t i = 0; i < addresses.piece_count; ++i) {
    if (addresses.pieces[i].reader == reader && left-- == 0) return &addresses.pieces[i];
  }
  return nullptr;
}

}  // namespace hr::coll::device
