// Buffers: memory in which messages are built and from which they are sent. A message stays in its buffer until the
// network is done with it.
//
// There are three sizes, as short messages are many and long ones few. A limited number of returned buffers of each
// size is kept for reuse. `Own` is the transport's part of a buffer, which it may use as long as the buffer exists.
// Owner: the transport. Threads: library lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>

#include "base/buffered.hpp"
#include "transport/transport.hpp"

namespace hr::transport::network {

// Header of a payload. All processes of a job run the same library on machines with the same byte order.
struct Head {
  std::uint32_t sequence;  // low bits of the message's number from this sender to this receiver, counted from 0
  std::uint32_t from;      // name of the sender (names.hpp)
  std::uint64_t secret;    // secret of the receiver (names.hpp)
  Header header;
};
static_assert(sizeof(Head) == 40);

// A message up to its payload. `front` is sent by transports that need a word before `head`.
struct OnWire {
  std::uint64_t front = 0;
  Head head;
};
static_assert(sizeof(OnWire) == 48);

// 64 KiB plus the bytes that protocols put before the data.
inline constexpr std::size_t kMaxPayload = 65536 + kMostInFront;
// Maximum length of messages that a user may choose to send eagerly, for paths with a long delay.
inline constexpr std::size_t kMostEager = std::size_t{1} << 20;

template <class Own>
struct Buffer {
  Buffer* next = nullptr;  // next unused buffer
  std::size_t room = 0;    // bytes of payload
  std::size_t bytes = 0;   // bytes in use
  Own own{};
  OnWire wire;

  [[nodiscard]] std::byte* payload() noexcept { return reinterpret_cast<std::byte*>(&wire + 1); }
};

template <class Own>
class Buffers {
  using Buffer = network::Buffer<Own>;

 public:
  // `of`: counts the memory of all buffers.
  explicit Buffers(counters::Buffers of) noexcept : buffered_(of) {}
  ~Buffers() { clear(); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  // Returns a buffer for a payload of this length; nullptr: no memory.
  [[nodiscard]] Buffer* take(std::size_t bytes) {
    Kept& kept = kept_for(bytes);
    if (kept.first != nullptr) return take_first(kept);
    void* const memory = ::operator new(sizeof(Buffer) + kept.room, std::nothrow);
    if (memory == nullptr) return nullptr;
    auto* made = ::new (memory) Buffer;
    made->room = kept.room;
    buffered_.take(sizeof(Buffer) + kept.room);
    return made;
  }

  // Destroys the buffers that are not in use.
  void clear() noexcept {
    for (Kept& kept : kept_) {
      while (kept.first != nullptr) destroy(take_first(kept));
    }
  }

  void give_back(Buffer* buffer) noexcept {
    Kept& kept = kept_for(buffer->room);
    if (kept.count == kept.most) return destroy(buffer);
    buffer->next = kept.first;
    kept.first = buffer;
    ++kept.count;
  }

 private:
  struct Kept {
    std::size_t room;
    std::size_t most;
    Buffer* first = nullptr;
    std::size_t count = 0;
  };

  Kept& kept_for(std::size_t bytes) noexcept {
    if (bytes <= kept_[0].room) return kept_[0];
    return kept_[bytes <= kept_[1].room ? 1 : 2];
  }
  static Buffer* take_first(Kept& kept) noexcept {
    Buffer* const first = kept.first;
    kept.first = first->next;
    --kept.count;
    return first;
  }
  void destroy(Buffer* buffer) noexcept {
    buffered_.give_back(sizeof(Buffer) + buffer->room);
    buffer->~Buffer();
    ::operator delete(buffer);
  }

  Buffered buffered_;
  std::array<Kept, 3> kept_{Kept{2048, 64}, Kept{kMaxPayload, 64}, Kept{kMostEager + kMostInFront, 8}};
};

}  // namespace hr::transport::network
