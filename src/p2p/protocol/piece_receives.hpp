// PieceReceives: the receiver's half of a protocol that moves messages piece by piece (piece_sends.hpp): the pieces
// that are on their way into their receives.
//
// A piece is in the table from the arrival of the message that announces it until its data is in the receive buffer. A
// device's copies out of staging memory are polled here; the protocol's step (advance()) handles everything else that a
// piece waits for. No call waits.
// Owner: the protocol; the requests and the staging memory outlive their pieces. Threads: library lock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <utility>

#include "layout/device/chunk_copy.hpp"
#include "p2p/protocol/arrivals.hpp"
#include "p2p/request.hpp"

namespace hr::p2p {

struct PieceOnItsWay {
  Request* receive = nullptr;
  int from = -1;
  std::size_t offset = 0;
  std::size_t bytes = 0;
  std::uint32_t chunk = 0;
  bool copying = false;  // `copy` has been started
  Status copied = kOk;
  layout::device::ChunkCopy copy;
};

// Piece: derived from PieceOnItsWay.
template <class Piece>
class PieceReceives {
 public:
  // True if these bytes lie in the message and, with the pieces that are on their way, do not exceed its missing bytes.
  [[nodiscard]] bool expects(const Request& receive, std::size_t offset, std::size_t bytes) const noexcept {
    std::size_t pending = 0;
    each([&](const Piece& piece) { pending += piece.receive == &receive ? piece.bytes : 0; });
    const std::size_t missing = missing_bytes(receive);
    return lies_in(receive, offset, bytes) && bytes <= missing - std::min(missing, pending);
  }

  Piece& add(Request& receive, int from, std::size_t offset, std::size_t bytes) {
    ++count_;
    Piece& piece = of_[from].emplace_back();
    piece.receive = &receive;
    piece.from = from;
    piece.offset = offset;
    piece.bytes = bytes;
    return piece;
  }
  template <class Condition>
  void remove_if(int from, Condition&& condition) {
    if (const auto found = of_.find(from); found != of_.end()) count_ -= found->second.remove_if(condition);
  }

  [[nodiscard]] bool any() const noexcept { return count_ != 0; }
  [[nodiscard]] bool any(int from) const noexcept {
    const auto found = of_.find(from);
    return found != of_.end() && !found->second.empty();
  }
  [[nodiscard]] bool holds(const Request& receive) const noexcept {
    bool found = false;
    each([&](const Piece& piece) { found |= piece.receive == &receive; });
    return found;
  }

  // Advances all pieces; true if something moved. step(piece, &moved): advances a piece whose copy has not been
  // started; true if the piece is over. end(piece): called for each piece that is over, after it has left the table.
  template <class Step, class End>
  bool advance(Step&& step, End&& end) {
    bool moved = false;
    for (auto& [from, pieces] : of_) {
      if (!any()) break;
      bool copies_end = true;  // copies of one stream end in order
      for (auto at = pieces.begin(); at != pieces.end();) {
        Piece& piece = *at;
        bool over = !piece.copying && step(piece, &moved);
        if (piece.copying && copies_end) {
          piece.copied = piece.copy.poll(&over);
          copies_end = over;
        }
        if (!over) {
          ++at;
          continue;
        }
        moved = true;
        --count_;
        std::list<Piece> left;
        left.splice(left.begin(), pieces, at++);
        end(left.front());
      }
    }
    return moved;
  }

 private:
  template <class Visit>
  void each(Visit&& visit) const noexcept {
    if (!any()) return;
    for (const auto& [from, pieces] : of_) {
      for (const Piece& piece : pieces) visit(piece);
    }
  }

  std::map<int, std::list<Piece>> of_;  // indexed by sender
  std::size_t count_ = 0;
};

}  // namespace hr::p2p
