#include "limits/ping_pong.hpp"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif
#include <sched.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "limits/clock.hpp"
#include "limits/cores.hpp"
#include "limits/processes.hpp"

namespace bench {
namespace {

constexpr std::size_t kLongPiece = 8192;
constexpr std::size_t kAsked = 4096;  // number of bytes that a writer prefetches before its turn
constexpr std::size_t kLine = 64;

// Method of writing data into shared memory.
enum class In { kPieces, kNontemporal };

class Way {
 public:
  // `other`: the opposite direction, whose memory this one shares.
  Way(In in, std::size_t bytes, Through through, const Way* other = nullptr)
      : in_(in),
        bytes_(bytes),
        piece_(through.piece),
        stride_((bytes + 127) / 128 * 128),
        places_(std::max<std::size_t>(1, through.room / stride_)) {
    memory_ = other != nullptr ? other->memory_ : std::make_shared<std::vector<Pair>>(stride_ * places_ / sizeof(Pair));
  }
  void send(unsigned turn, const std::byte* from) {
    std::byte* const to = place(turn);
    std::uint64_t pieces = 0;
    for (std::size_t at = 0; at < bytes_; at += piece_) {
      const std::size_t length = std::min(piece_, bytes_ - at);
      in_ == In::kNontemporal ? copy_nontemporal(to + at, from + at, length)
                              : static_cast<void>(std::memcpy(to + at, from + at, length));
      written_.tell(first_of(turn) + ++pieces);
    }
  }
  void receive(unsigned turn, std::byte* to) {
    const std::byte* const from = place(turn);
    std::uint64_t pieces = 0;
    for (std::size_t at = 0; at < bytes_; at += piece_) {
      written_.wait(first_of(turn) + ++pieces);
      const std::size_t end = std::min(at + piece_, bytes_);
      if (copies_at_once()) std::memcpy(to + at, from + at, end - at);
      for (std::size_t line = at; !copies_at_once() && line < end; line += kLine) __builtin_prefetch(from + line);
    }
    if (!copies_at_once()) std::memcpy(to, from, bytes_);
  }
  void prefetch_for_write([[maybe_unused]] unsigned turn) {
#if defined(__x86_64__)
    if (in_ == In::kNontemporal) return;
    std::byte* const to = place(turn);
    for (std::size_t line = 0; line < std::min(bytes_, kAsked); line += kLine)
      asm volatile("prefetchw %0" : : "m"(to[line]));
#endif
  }

 private:
  static std::uint64_t first_of(unsigned turn) { return std::uint64_t{turn} << 16; }
  [[nodiscard]] bool copies_at_once() const { return in_ == In::kNontemporal || piece_ >= kLongPiece; }
  std::byte* place(unsigned turn) { return memory_->data()->bytes + turn % places_ * stride_; }
  static void copy_nontemporal(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
    const std::size_t lines = bytes / kLine * kLine;
    for (std::size_t at = 0; at < lines; at += sizeof(__m128i)) {
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + at),
                       _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at)));
    }
    std::memcpy(to + lines, from + lines, bytes - lines);
    _mm_sfence();
#else
    std::memcpy(to, from, bytes);
#endif
  }
  struct alignas(128) Pair {
    std::byte bytes[128];
  };
  In in_;
  std::size_t bytes_, piece_, stride_, places_;
  std::shared_ptr<std::vector<Pair>> memory_;
  Flag written_;
};

struct SharedFlags {
  Flag before[2];
  Flag here[2];
  Flag through[2];
  std::atomic<bool> failed{false};
  pid_t ids[2];  // published with each process's first flag
};

// One of the two processes, which have their buffers at the same addresses.
struct Side {
  SharedFlags& flags;
  int me;
  std::byte* send;
  std::byte* receive;  // two blocks
  std::byte* room;     // shared
  std::size_t bytes;

  [[nodiscard]] std::size_t own() const { return static_cast<std::size_t>(me); }
  [[nodiscard]] std::size_t others() const { return 1 - own(); }

  void meet(Flag (&flags)[2], std::uint64_t round) const {
    flags[own()].tell(round);
    flags[others()].wait(round);
  }
  void read(std::byte* to) const {
    const iovec local{to, bytes}, remote{send, bytes};
    if (process_vm_readv(flags.ids[others()], &local, 1, &remote, 1, 0) != static_cast<ssize_t>(bytes))
      flags.failed = true;
  }
  void gather(std::uint64_t round, bool copies) const {
    flags.here[own()].tell(round);
    if (copies) std::memcpy(receive + own() * bytes, send, bytes);
    flags.here[others()].wait(round);
    read(receive + others() * bytes);
    meet(flags.through, round);
  }
  // Broadcasts process 0's data.
  void broadcast_by_reading(std::uint64_t round) const {
    if (me == 0) {
      flags.here[0].tell(round);
      flags.through[1].wait(round);
    } else {
      flags.here[0].wait(round);
      read(receive);
      flags.through[1].tell(round);
    }
  }
  void broadcast_through_memory(std::uint64_t round) const {
    const std::size_t stride = kFlagBytes + (bytes + 127) / 128 * 128;
    std::byte* const place = room + round % std::max<std::size_t>(1, kRoom / stride) * stride;
    Flag& flag = *reinterpret_cast<Flag*>(place);
    // A short message shares the flag's cache line.
    std::byte* const data = place + (bytes <= 48 ? sizeof flag.value : kFlagBytes);
    if (me == 0) {
      std::memcpy(data, send, bytes);
      flag.tell(round);
    } else {
      flag.wait(round);
      std::memcpy(receive, data, bytes);
    }
  }

  static constexpr std::size_t kFlagBytes = sizeof(Flag);
  static constexpr std::size_t kRoom = std::size_t{512} << 10;
};

// Runs `work(side)` on two processes, the second one bound to another core, and returns the larger result; 0 if
// something failed.
template <class Work>
double on_two_processes(std::size_t bytes, int other_core, Work work) {
  using Kind = Mapped::Kind;
  const Mapped shared(sizeof(SharedFlags), Kind::kShared);
  const Mapped room(Side::kRoom + 2 * Side::kFlagBytes + bytes, Kind::kShared);
  const Mapped send(bytes, Kind::kOwn), receive(2 * bytes, Kind::kOwn);
  if (!shared || !room || !send || !receive) return 0;
  SharedFlags& flags = *new (shared.data()) SharedFlags;
  const double found = on_processes(2, {sched_getcpu(), other_core}, [&](int me) {
    const Side side{flags, me, send.data(), receive.data(), room.data(), bytes};
    flags.ids[me] = getpid();
    std::memset(side.send, 1, bytes);
    std::memset(side.receive, 0, 2 * bytes);
    return work(side);
  });
  return flags.failed ? 0 : found;
}

double ping_pong_us(In in, std::size_t bytes, Through through, int other_core, unsigned rounds) {
  Way there(in, bytes, through), back(in, bytes, through, through.both ? &there : nullptr);
  std::thread partner([&] {
    bind_to(other_core);
    std::vector<std::byte> send(bytes), receive(bytes);
    for (unsigned i = 1; i <= rounds; ++i) {
      there.receive(i, receive.data());
      back.prefetch_for_write(i);
      back.send(i, send.data());
    }
  });
  std::vector<std::byte> send(bytes), receive(bytes);
  double start = 0;
  for (unsigned i = 1; i <= rounds; ++i) {
    there.send(i, send.data());
    back.receive(i, receive.data());
    there.prefetch_for_write(i + 1);
    if (i == 1) start = now_us();  // starts once the other process is running
  }
  const double passed = now_us() - start;
  partner.join();
  return passed / (2.0 * (rounds - 1));
}

}  // namespace

double in_pieces_us(std::size_t bytes, Through through, int other_core, unsigned rounds) {
  return ping_pong_us(In::kPieces, bytes, through, other_core, rounds);
}

double nontemporal_us(std::size_t bytes, Through through, int other_core, unsigned rounds) {
  return ping_pong_us(In::kNontemporal, bytes, through, other_core, rounds);
}

double gather_by_reading_us(std::size_t bytes, bool own, int other_core, unsigned rounds) {
  return on_two_processes(bytes, other_core, [&](const Side& side) {
    double start = 0;
    for (unsigned i = 1; i <= rounds; ++i) {
      side.gather(i, own);
      if (i == 1) start = now_us();
    }
    return (now_us() - start) / (rounds - 1);
  });
}

double broadcast_us(std::size_t bytes, Broadcast how, int other_core, unsigned rounds) {
  return on_two_processes(bytes, other_core, [&](const Side& side) {
    double passed = 0;
    for (unsigned i = 1; i <= rounds; ++i) {
      side.meet(side.flags.before, i);
      const double start = now_us();
      how == Broadcast::kByReading ? side.broadcast_by_reading(i) : side.broadcast_through_memory(i);
      if (i > 1) passed += now_us() - start;
    }
    return passed / (rounds - 1);
  });
}

}  // namespace bench
