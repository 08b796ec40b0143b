// Ring: every rank sends to the next, with kernels that make and consume the data.
#pragma once

#include <mpix-device.h>

#include <string>
#include <vector>

#include "parts.hpp"

namespace streams {

// A ring in which kernels make and consume the data of every round, ordered only by the stream. Kernels cannot read
// pageable host memory, and copies read it when they are called. It has a place for each round instead, which the host
// reads at the end. The memory is allocated beforehand, as the driver may wait for all streams when it allocates.
class Ring {
 public:
  Ring(const Lane& lane, MemoryKind kind, std::size_t count)
      : lane_(lane),
        kernels_(kind != MemoryKind::kHost),
        count_(count),
        from_(count * sizeof(Word), kind),
        to_((kernels_ ? 1 : kRounds) * count * sizeof(Word), kind),
        seen_(kRounds * count * sizeof(Word), MemoryKind::kDevice) {}

  void run(const std::string& what) {
    poison(from_);
    poison(to_);
    poison(seen_);
    if (!kernels_) from_.put(counting(count_, value_of(lane_.rank, 0)));
    gpu::synchronize(gpu::kDefaultStream);
    const gpu::Event event = gpu::create_event();
    for (int round = 0; round < kRounds; ++round) exchange(round);
    gpu::record(event, lane_.stream());
    gpu::synchronize_event(event);
    gpu::destroy_event(event);
    const auto all = (kernels_ ? seen_ : to_).take<Word>();
    for (int round = 0; round < kRounds; ++round) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(round) * count_);
      expect(std::vector<Word>(first, first + static_cast<std::ptrdiff_t>(count_)),
             counting(count_, value_of(lane_.previous, kernels_ ? round : 0) + (kernels_ ? 1 : 0)),
             what + ", round " + std::to_string(round));
    }
  }

 private:
  static constexpr int kRounds = 4;

  void exchange(int round) {
    const int elements = static_cast<int>(count_);
    const std::size_t place = static_cast<std::size_t>(round) * count_;
    if (kernels_) lane_.fill(from_, value_of(lane_.rank, round), kSlow);
    MPI_Request requests[2];
    CHECK_OK(MPIX_Irecv_enqueue(static_cast<Word*>(to_.get()) + (kernels_ ? 0 : place), elements, MPI_UINT32_T,
                                lane_.previous, round, lane_.comm(), &requests[0]));
    CHECK_OK(MPIX_Isend_enqueue(from_.get(), elements, MPI_UINT32_T, lane_.next, round, lane_.comm(), &requests[1]));
    CHECK_OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    if (!kernels_) return;
    lane_.copy(seen_, place, to_, 1, kSlow);
    lane_.fill(to_, kPoison);
  }

  const Lane& lane_;
  bool kernels_;
  std::size_t count_;
  Buffer from_, to_, seen_;
};

}  // namespace streams
