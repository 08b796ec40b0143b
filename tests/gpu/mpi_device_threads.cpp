// MPI_THREAD_MULTIPLE with device buffers: threads that concurrently exchange messages on their own communicators. Some
// have never used CUDA, some have another device current, and some use the device themselves between the calls.
#include <algorithm>
#include <memory>
#include <thread>

#include "../mpi/random/plan.hpp"
#include "mpi_memory.hpp"

namespace {

using hr::test::content;
using hr::test::DeviceMemory;
using hr::test::MemoryKind;
using random_exchange::draw;

constexpr int kThreads = 4;

enum class Habit { kNeverTouchedCuda, kAnotherDevice, kWorksOnTheDevice, kHostAndDevice };

struct Settings {
  int rounds;
  std::size_t largest;
};

class Thread {
 public:
  Thread(int number, const check::Environment& mpi, const Settings& settings, MPI_Comm comm)
      : number_(number),
        mpi_(mpi),
        settings_(settings),
        comm_(comm),
        habit_(static_cast<Habit>(number % 4)),
        send_(settings.largest, habit_ == Habit::kHostAndDevice ? MemoryKind::kHost : kind(0), gpu::device()),
        receive_(settings.largest, kind(1), gpu::device()) {
    send_.write(content(settings_.largest, salt(mpi_.rank)));
    receive_.write(content(settings_.largest, 9999));
  }

  void run() {
    if (habit_ == Habit::kAnotherDevice) gpu::bind_thread(other_device());
    if (habit_ == Habit::kWorksOnTheDevice) gpu::bind_thread(gpu::device());
    const int next = (mpi_.rank + 1) % mpi_.size, previous = (mpi_.rank + mpi_.size - 1) % mpi_.size;
    for (int round = 0; round < settings_.rounds; ++round) {
      auto random =
          random_exchange::generator(static_cast<std::uint64_t>(number_), static_cast<std::uint64_t>(round), 9);
      const int bytes = round == settings_.rounds - 1 ? static_cast<int>(settings_.largest)
                                                      : draw(random, 0, static_cast<int>(settings_.largest));
      MPI_Request requests[2];
      CHECK_OK(MPI_Irecv(receive_.get(), bytes, MPI_BYTE, previous, round % 100, comm_, &requests[0]));
      CHECK_OK(MPI_Isend(send_.get(), bytes, MPI_BYTE, next, round % 100, comm_, &requests[1]));
      CHECK_OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
      if (habit_ == Habit::kWorksOnTheDevice) check_start(previous, bytes);
      if (round % 5 == 4) {
        int sum = 0;
        CHECK_OK(MPI_Allreduce(&number_, &sum, 1, MPI_INT, MPI_SUM, comm_));
        CHECK_EQ(sum, number_ * mpi_.size);
      }
    }
  }

  // Called in the main thread: the last message filled the buffer.
  void check_all() const {
    const int previous = (mpi_.rank + mpi_.size - 1) % mpi_.size;
    if (receive_.read() != content(settings_.largest, salt(previous))) {
      check::fail(__FILE__, __LINE__, "thread " + std::to_string(number_) + " received something else");
    }
  }

  static int other_device() { return (gpu::device() + 1) % gpu::device_count(); }

 private:
  unsigned salt(int rank) const { return static_cast<unsigned>(rank * kThreads + number_); }
  MemoryKind kind(int offset) const {
    return hr::test::kDeviceKinds[static_cast<std::size_t>(number_ + offset) % std::size(hr::test::kDeviceKinds)];
  }
  void check_start(int source, int bytes) const {
    std::vector<std::byte> found(static_cast<std::size_t>(std::min(bytes, 4096)));
    gpu::copy(found.data(), receive_.get(), found.size());
    CHECK(found == content(found.size(), salt(source)));
  }

  int number_;
  const check::Environment& mpi_;
  const Settings& settings_;
  MPI_Comm comm_;
  Habit habit_;
  DeviceMemory send_, receive_;
};

}  // namespace

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_MULTIPLE);
  if (!hr::test::select_device()) return 0;
  const bool all = argc > 1 && std::string(argv[1]) == "all";
  const Settings settings{all ? 200 : 40, all ? std::size_t{8} << 20 : std::size_t{1} << 20};
  const int mine = gpu::device();
  gpu::select(Thread::other_device());  // context of the device, for the threads that have it current
  gpu::select(mine);
  std::vector<MPI_Comm> comms(kThreads);
  std::vector<std::unique_ptr<Thread>> parts;
  for (int i = 0; i < kThreads; ++i) {
    CHECK_OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[static_cast<std::size_t>(i)]));
    parts.push_back(std::make_unique<Thread>(i, mpi, settings, comms[static_cast<std::size_t>(i)]));
  }
  std::vector<std::thread> threads;
  for (const auto& part : parts) threads.emplace_back([&part] { part->run(); });
  for (std::thread& thread : threads) thread.join();
  for (const auto& part : parts) part->check_all();
  for (MPI_Comm& comm : comms) CHECK_OK(MPI_Comm_free(&comm));
  return 0;
}
