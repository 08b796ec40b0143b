#include "limits/two_processes.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "gpu.hpp"
#include "limits/clock.hpp"

namespace bench {
namespace {

constexpr unsigned kSeconds = 30;  // time after which a hanging process is killed
constexpr int kMostLaps = 1000;

// Memory shared by the two processes; initially zero.
struct Shared {
  struct alignas(64) Side {
    std::atomic<int> reached;  // common steps completed
    alignas(64) std::atomic<int> lap;
    gpu::IpcHandle memory;
  } sides[2];
  double times[kMostLaps];
};

void await(const std::atomic<int>& word, int value) {
  while (word.load(std::memory_order_acquire) < value) {
  }
}

// Returns the pitch of the two rows of a message in pinned memory. There are two rows because copy engines move two
// rows of any length, while short contiguous copies from host memory wait for the multiprocessors.
std::size_t pitch_of(std::size_t bytes) { return bytes / 2 + 64; }

class Process {
 public:
  Process(Shared& shared, std::byte* pinned, int side, std::size_t most)
      : shared_(shared), pinned_(pinned), side_(side) {
    gpu::select(side);
    stream_ = gpu::create_stream(true);
    event_ = gpu::create_event();
    own_ = gpu::allocate(most);
    gpu::pin(pinned, 2 * pitch_of(most));
    shared.sides[side].memory = gpu::ipc_handle(own_);
    meet();
    other_ = gpu::open_ipc(shared.sides[1 - side].memory);
  }

  // Side 0 records the times.
  void ping_pong(std::size_t bytes, Way way, int laps) {
    mine().lap.store(0, std::memory_order_relaxed);
    meet();
    for (int lap = 1; lap <= laps; ++lap) {
      const double start = now_us();
      for (int sender = 0; sender < 2; ++sender) sender == side_ ? send(bytes, way, lap) : receive(bytes, way, lap);
      if (side_ == 0) shared_.times[lap - 1] = (now_us() - start) / 2;
    }
    meet();
  }
  void meet() {
    mine().reached.store(++step_, std::memory_order_release);
    await(theirs().reached, step_);
  }

 private:
  Shared::Side& mine() { return shared_.sides[side_]; }
  Shared::Side& theirs() { return shared_.sides[1 - side_]; }
  void send(std::size_t bytes, Way way, int lap) {
    if (way == Way::kPut) copy(other_, bytes, own_, bytes, bytes);
    if (way == Way::kPinned) copy(pinned_, pitch_of(bytes), own_, bytes / 2, bytes / 2);
    mine().lap.store(lap, std::memory_order_release);
  }
  void receive(std::size_t bytes, Way way, int lap) {
    await(theirs().lap, lap);
    if (way == Way::kGet) copy(own_, bytes, other_, bytes, bytes);
    if (way == Way::kPinned) copy(own_, bytes / 2, pinned_, pitch_of(bytes), bytes / 2);
  }
  // Copies one row, or two if a row is half of the message.
  void copy(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t row) {
    if (to_pitch == from_pitch) {
      gpu::copy_async(to, from, row, stream_);
    } else {
      gpu::copy_pitched_async(to, to_pitch, from, from_pitch, row, 2, stream_);
    }
    gpu::record(event_, stream_);
    while (!gpu::complete(event_)) {
    }
  }

  Shared& shared_;
  std::byte* const pinned_;
  const int side_;
  int step_ = 0;
  gpu::Stream stream_;
  gpu::Event event_;
  void* own_;
  void* other_;
};

// Forks a process that performs `work` and exits.
template <class Work>
pid_t start(const Work& work) {
  const pid_t process = ::fork();
  if (process != 0) return process;
  ::alarm(kSeconds);
  gpu::fatal_exit = [] { ::_exit(1); };
  if (!gpu::available()) ::_exit(2);
  work();
  ::_exit(0);
}

bool ended_well(pid_t process) {
  int status = 0;
  return process > 0 && ::waitpid(process, &status, 0) == process && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

std::vector<Exchange> measure_exchanges(const std::vector<std::size_t>& sizes, int laps, std::string* why) {
  laps = std::clamp(laps, 1, kMostLaps);
  const std::size_t most = *std::max_element(sizes.begin(), sizes.end());
  constexpr std::size_t kPinnedAt = (sizeof(Shared) + 4095) / 4096 * 4096;
  const std::size_t mapped = kPinnedAt + 2 * pitch_of(most) + 4096;
  void* const memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int results[2] = {-1, -1};
  if (memory == MAP_FAILED || ::pipe(results) != 0) {
    *why = "no shared memory";
    return {};
  }
  Shared& shared = *static_cast<Shared*>(memory);
  std::byte* const pinned = static_cast<std::byte*>(memory) + kPinnedAt;
  const auto work = [&](int side) {
    Process process(shared, pinned, side, most);
    for (const std::size_t bytes : sizes) {
      for (const Way way : {Way::kGet, Way::kPut, Way::kPinned}) {
        process.ping_pong(bytes, way, laps);
        const Exchange found{bytes, way, summarise({shared.times, shared.times + laps}, true)};
        if (side == 0 && ::write(results[1], &found, sizeof found) != sizeof found) ::_exit(3);
        process.meet();  // waits before the times are overwritten
      }
    }
  };
  const pid_t second = start([&] { work(1); });
  const pid_t first = start([&] { work(0); });
  const bool well = ended_well(first);
  // The second process would wait for the first forever.
  if (!well && second > 0) ::kill(second, SIGKILL);
  const bool both = ended_well(second) && well;
  ::close(results[1]);
  std::vector<Exchange> exchanges;
  for (Exchange found; both && ::read(results[0], &found, sizeof found) == sizeof found;) exchanges.push_back(found);
  ::close(results[0]);
  ::munmap(memory, mapped);
  if (!both) *why = "two processes cannot map each other's memory";
  return exchanges;
}

}  // namespace bench
