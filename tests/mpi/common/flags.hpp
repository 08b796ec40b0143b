// Flags: one number per rank, which all ranks of MPI_COMM_WORLD can read without MPI. For tests of events while a rank
// is outside MPI. The flags are in a file in TMPDIR or /tmp, which all ranks map, and which is then unlinked. Any
// thread may use them.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "common/check.hpp"

namespace check {

class Flags {
 public:
  explicit Flags(const Environment& mpi) : rank_(mpi.rank), size_(mpi.size) {
    char path[512];
    const char* const directory = std::getenv("TMPDIR");
    std::snprintf(path, sizeof path, "%s/mpi_flags.XXXXXX", directory != nullptr ? directory : "/tmp");
    int file = -1;
    if (rank_ == 0) {
      file = ::mkstemp(path);
      if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes())) != 0) fail(__FILE__, __LINE__, path);
    }
    MPI_Bcast(path, sizeof path, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank_ != 0) file = ::open(path, O_RDWR);
    if (file < 0) fail(__FILE__, __LINE__, path);
    void* const memory = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fail(__FILE__, __LINE__, path);
    numbers_ = static_cast<int*>(memory);
    ::close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank_ == 0) ::unlink(path);
  }
  ~Flags() { ::munmap(numbers_, bytes()); }
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  // Sets this rank's flag, initially 0.
  void set(int value) noexcept { __atomic_store_n(&numbers_[rank_], value, __ATOMIC_RELEASE); }
  [[nodiscard]] int of(int rank) const noexcept { return __atomic_load_n(&numbers_[rank], __ATOMIC_ACQUIRE); }
  void await(int rank, int value) const noexcept {
    while (of(rank) != value) ::sched_yield();
  }
  void await_others(int value) const noexcept {
    for (int rank = 0; rank < size_; ++rank) {
      if (rank != rank_) await(rank, value);
    }
  }

 private:
  [[nodiscard]] std::size_t bytes() const noexcept { return static_cast<std::size_t>(size_) * sizeof(int); }

  int rank_, size_;
  int* numbers_ = nullptr;
};

}  // namespace check
