// Piece: one read or write of contiguous memory of another process.
//
// Owner: the code that creates it, until done() is called. Threads: library lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/status.hpp"
#include "transport/ofi/fabric.hpp"
#include "transport/ofi/requests.hpp"

namespace hr::transport::ofi {

// Maximum length of a piece in bytes; all providers accept it.
inline constexpr std::size_t kMostOfPiece = std::size_t{1} << 30;

struct Piece : Request {
  const Fabric* fabric = nullptr;
  void* whole = nullptr;  // the transfer to which it belongs
  std::byte* local = nullptr;
  std::size_t bytes = 0;
  std::uint64_t remote = 0;
  std::uint64_t key = 0;
  std::size_t offset = 0;  // in the data of a rendezvous
  bool write = false;      // completes when the data has taken effect
  Registration registration;
  std::unique_ptr<std::byte[]> bounce;  // memory of the piece itself, if it has any

  Piece() = default;
  ~Piece() { Fabric::remove(&registration); }
  Piece(const Piece&) = delete;
  Piece& operator=(const Piece&) = delete;

  // Prepares for start(); registers `local` if the provider requires that.
  Status prepare(Fabric& in, Line& to);
};

}  // namespace hr::transport::ofi
