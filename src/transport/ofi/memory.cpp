#include "transport/ofi/memory.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "transport/ofi/piece.hpp"

namespace hr::transport::ofi {
namespace {

// Content of a RemoteKey.
struct Key {
  std::uint64_t number;
  std::uint64_t key;
  std::uint64_t base;     // address of the first byte in accesses
  std::uint64_t address;  // address of the first byte in its process
  std::uint64_t bytes;
};
static_assert(sizeof(Key) <= RemoteKey::kMost);

}  // namespace

struct Memory::Move {
  Memory* memory;
  int proc;
  bool write;
  Operation* done;
  std::size_t left = 1;  // parts that have not ended, and one while parts are being started
  Status status = kOk;
};

Status Memory::expose(std::byte* address, std::size_t bytes, RemoteKey* key) {
  Registration made;
  HR_TRY(fabric_.add(address, bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, &made));
  const Key content{next_, made.key, made.base, reinterpret_cast<std::uint64_t>(address), bytes};
  key->bytes = sizeof content;
  std::memcpy(key->data, &content, sizeof content);
  exposed_.emplace(next_++, made);
  return kOk;
}

void Memory::withdraw(const RemoteKey& key) noexcept {
  Key content;
  std::memcpy(&content, key.data, sizeof content);
  const auto found = exposed_.find(content.number);
  if (found == exposed_.end()) return;
  Fabric::remove(&found->second);
  exposed_.erase(found);
}

void Memory::close() noexcept {
  for (auto& [number, registration] : exposed_) Fabric::remove(&registration);
  exposed_.clear();
}

void Memory::part_done(Request& request, int error) {
  const std::unique_ptr<Piece> piece(static_cast<Piece*>(&request));
  auto* const move = static_cast<Move*>(piece->whole);
  if (error != 0) move->status = Errc::kOther;
  move->memory->end(move);
}

void Memory::end(Move* move) {
  if (--move->left != 0) return;
  const std::unique_ptr<Move> ended(move);
  std::vector<std::pair<Operation*, Status>> flushed;
  if (move->write) {
    Writes& all = writes_[move->proc];
    ++all.ended;
    if (!move->status.ok()) all.status = move->status;
    // Writes may end in any order, so flushes wait until none is pending.
    while (!all.flushes.empty() && all.ended == all.begun) {
      flushed.emplace_back(all.flushes.begin()->second, all.status);
      all.flushes.erase(all.flushes.begin());
    }
  }
  move->done->end(move->status);
  for (const auto& [flush, status] : flushed) flush->end(status);
}

Status Memory::move(int proc, Line& to, const RemoteKey& key, std::span<const RemotePart> parts, bool write,
                    Operation* done) {
  Key content{};
  if (key.bytes == sizeof content) std::memcpy(&content, key.data, sizeof content);
  const auto lies_in = [&](const RemotePart& part) {
    const std::uint64_t offset = part.address - content.address;
    return offset <= content.bytes && part.bytes <= content.bytes - offset;
  };
  if (key.bytes != sizeof content || !std::ranges::all_of(parts, lies_in)) {
    return fail(Errc::kUnsupportedOperation, "ofi: the key to memory of rank %d cannot be used", proc);
  }
  std::vector<std::unique_ptr<Piece>> pieces;
  auto whole = std::make_unique<Move>(this, proc, write, done);
  for (const RemotePart& part : parts) {
    for (std::size_t at = 0; at < part.bytes; at += kMostOfPiece) {
      auto piece = std::make_unique<Piece>();
      piece->whole = whole.get();
      piece->local = part.local + at;
      piece->bytes = std::min(part.bytes - at, kMostOfPiece);
      piece->remote = content.base + (part.address + at - content.address);
      piece->key = content.key;
      piece->write = write;
      piece->done = part_done;
      HR_TRY(piece->prepare(fabric_, to));
      pieces.push_back(std::move(piece));
    }
  }
  if (pieces.empty()) {
    done->complete = true;
    return kOk;
  }
  whole->left = pieces.size();
  whole.release();  // end() deletes it
  if (write) ++writes_[proc].begun;
  for (auto& piece : pieces) requests_.begin(*piece.release());  // part_done() deletes it
  return kOk;
}

void Memory::flush(int proc, Operation* done) {
  Writes& all = writes_[proc];
  if (all.ended == all.begun) {
    done->status = std::exchange(all.status, kOk);
    done->complete = true;
    return;
  }
  all.flushes.emplace(all.begun, done);
}

}  // namespace hr::transport::ofi
