#include "limits/turns.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "limits/clock.hpp"
#include "limits/cores.hpp"

namespace bench {
namespace {

constexpr std::size_t kPiece = 3072;
constexpr std::size_t kAsked = 4096;  // lines that a writer asks for ahead of its turn
constexpr std::size_t kLine = 64;

struct alignas(128) Flag {
  std::atomic<std::uint64_t> value{0};
  void wait(std::uint64_t wanted) const {
    while (value.load(std::memory_order_acquire) < wanted) {
    }
  }
  void tell(std::uint64_t now) { value.store(now, std::memory_order_release); }
};

class Way {
 public:
  Way(std::size_t bytes, std::size_t room)
      : bytes_(bytes), stride_((bytes + 127) / 128 * 128), places_(std::max<std::size_t>(1, room / stride_)) {
    memory_.resize(stride_ * places_);
  }
  void send(unsigned turn, const std::byte* from) {
    std::byte* const to = place(turn);
    std::uint64_t pieces = 0;
    for (std::size_t at = 0; at < bytes_; at += kPiece) {
      std::memcpy(to + at, from + at, std::min(kPiece, bytes_ - at));
      written_.tell(first_of(turn) + ++pieces);
    }
  }
  void receive(unsigned turn, std::byte* to) {
    const std::byte* const from = place(turn);
    std::uint64_t pieces = 0;
    for (std::size_t at = 0; at < bytes_; at += kPiece) {
      written_.wait(first_of(turn) + ++pieces);
      const std::size_t end = std::min(at + kPiece, bytes_);
      for (std::size_t line = at; line < end; line += kLine) __builtin_prefetch(from + line);
    }
    std::memcpy(to, from, bytes_);
  }
  void take_back([[maybe_unused]] unsigned turn) {
#if defined(__x86_64__)
    std::byte* const to = place(turn);
    for (std::size_t line = 0; line < std::min(bytes_, kAsked); line += kLine)
      asm volatile("prefetchw %0" : : "m"(to[line]));
#endif
  }

 private:
  static std::uint64_t first_of(unsigned turn) { return std::uint64_t{turn} << 16; }
  std::byte* place(unsigned turn) { return memory_.data() + turn % places_ * stride_; }
  std::size_t bytes_, stride_, places_;
  std::vector<std::byte> memory_;
  Flag written_;
};

struct Told {
  Flag here[2];
  Flag through[2];
  std::atomic<bool> failed{false};
};

// One of the two processes.
struct Reader {
  Told& told;
  int me;
  pid_t other;
  std::byte* send;
  std::byte* receive;  // two blocks
  std::size_t bytes;
  bool own;

  void gather(std::uint64_t round) const {
    const auto side = static_cast<std::size_t>(me);
    told.here[side].tell(round);
    if (own) std::memcpy(receive + side * bytes, send, bytes);
    told.here[1 - side].wait(round);
    // Both processes have their buffers at the same addresses.
    const iovec to{receive + (1 - side) * bytes, bytes}, from{send, bytes};
    if (process_vm_readv(other, &to, 1, &from, 1, 0) != static_cast<ssize_t>(bytes)) told.failed = true;
    told.through[side].tell(round);
    told.through[1 - side].wait(round);
  }
};

std::byte* mapped(std::size_t bytes, int sharing) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

}  // namespace

double in_pieces_us(std::size_t bytes, std::size_t room, int other_core, unsigned rounds) {
  Way there(bytes, room), back(bytes, room);
  std::thread partner([&] {
    bind_to(other_core);
    std::vector<std::byte> send(bytes), receive(bytes);
    for (unsigned i = 1; i <= rounds; ++i) {
      there.receive(i, receive.data());
      back.take_back(i);
      back.send(i, send.data());
    }
  });
  std::vector<std::byte> send(bytes), receive(bytes);
  double start = 0;
  for (unsigned i = 1; i <= rounds; ++i) {
    there.send(i, send.data());
    back.receive(i, receive.data());
    there.take_back(i + 1);
    if (i == 1) start = now_us();  // the thread is there
  }
  const double passed = now_us() - start;
  partner.join();
  return passed / (2.0 * (rounds - 1));
}

double gather_by_reading_us(std::size_t bytes, bool own, int other_core, unsigned rounds) {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  std::byte* const shared = mapped(sizeof(Told), MAP_SHARED);
  std::byte* const send = mapped(bytes, MAP_PRIVATE);
  std::byte* const receive = mapped(2 * bytes, MAP_PRIVATE);
  double passed = 0;
  if (shared != nullptr && send != nullptr && receive != nullptr) {
    Told& told = *new (shared) Told;
    const pid_t first = getpid();
    const pid_t child = fork();
    if (child >= 0) {
      const bool is_child = child == 0;
      if (is_child) {
        bind_to(other_core);
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
      }
      const Reader reader{told, is_child ? 1 : 0, is_child ? first : child, send, receive, bytes, own};
      std::memset(send, 1, bytes);
      std::memset(receive, 0, 2 * bytes);
      double start = 0;
      for (unsigned i = 1; i <= rounds; ++i) {
        reader.gather(i);
        if (i == 1) start = now_us();
      }
      if (is_child) _exit(0);
      passed = now_us() - start;
      waitpid(child, nullptr, 0);
      if (told.failed) passed = 0;
    }
  }
  if (shared != nullptr) munmap(shared, sizeof(Told));
  if (send != nullptr) munmap(send, bytes);
  if (receive != nullptr) munmap(receive, 2 * bytes);
  return passed / (rounds - 1);
}

}  // namespace bench
