#include "common/distance.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace bench {
namespace {

constexpr unsigned kRounds = 100;

}  // namespace

// Two words, each written by one rank. Their initial value is zero, as in all new shared memory. Each word occupies two
// cache lines because the processor may fetch lines in pairs.
struct Distance::Words {
  alignas(128) std::atomic<unsigned> there;
  double nanoseconds;  // measured before the last update of `there`
  alignas(128) std::atomic<unsigned> back;

  static Words* map(const std::string& name, int flags) {
    const int file = ::shm_open(name.c_str(), flags, 0600);
    if (file < 0) return nullptr;
    void* memory = MAP_FAILED;
    if (::ftruncate(file, sizeof(Words)) == 0) {
      memory = ::mmap(nullptr, sizeof(Words), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    ::close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<Words*>(memory);
  }
};

Distance::Distance(const World& world) : world_(world) {
  const bool first = world.rank == 0;
  const std::string name = "/headrace-bench." + std::to_string(from_root(world, static_cast<int>(::getpid())));
  if (first) words_ = Words::map(name, O_RDWR | O_CREAT | O_EXCL);
  const int error = errno;
  barrier(world);
  if (!first) words_ = Words::map(name, O_RDWR);
  barrier(world);
  if (first) ::shm_unlink(name.c_str());
  if (words_ != nullptr) return;
  std::fprintf(stderr, "--cores-apart: rank %d: no memory in common with the other rank: /dev/shm%s: %s\n", world.rank,
               name.c_str(), std::strerror(first ? error : errno));
  MPI_Abort(world.comm, 3);
}

Distance::~Distance() { ::munmap(words_, sizeof(Words)); }

double Distance::now() {
  // Rank 0 may be one turn ahead, as it does not learn that its last turn has been seen.
  const auto await = [](const std::atomic<unsigned>& word, unsigned turn) {
    while (static_cast<int>(word.load(std::memory_order_acquire) - turn) < 0) {
    }
  };
  if (world_.rank != 0) {
    for (unsigned i = 0; i <= kRounds; ++i) {
      await(words_->there, ++turn_);
      words_->back.store(turn_, std::memory_order_release);
    }
    await(words_->there, ++turn_);
    return words_->nanoseconds;
  }
  double start = 0;
  for (unsigned i = 0; i <= kRounds; ++i) {
    words_->there.store(++turn_, std::memory_order_release);
    await(words_->back, turn_);
    if (i == 0) start = MPI_Wtime();  // starts after the first turn, which waits for the other rank
  }
  words_->nanoseconds = (MPI_Wtime() - start) / (2.0 * kRounds) * 1e9;
  words_->there.store(++turn_, std::memory_order_release);
  return words_->nanoseconds;
}

}  // namespace bench
