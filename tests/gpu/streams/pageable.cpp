// Copies to pageable memory behind operations, as MPICH's tests of its stream functions do. The driver waits for the
// stream inside such a copy, and lets no other thread work meanwhile, so the program must wait for the stream first.
//
//   mpi_streams_pageable [hang]
//
// hang: it does not wait.
#include <cstring>

#include "lane.hpp"

namespace streams {
namespace {

constexpr Word kPoison = 0x5A5A5A5Au;

bool waits_first = true;

std::vector<Word> copied(const Lane& lane, const Buffer& from) {
  if (waits_first) lane.wait();
  std::vector<Word> host(from.size() / sizeof(Word), kPoison);
  gpu::copy_async(host.data(), from.get(), from.size(), lane.stream());
  lane.wait();
  return host;
}

void run(const Lane& lane, std::size_t count) {
  const int words = static_cast<int>(count);
  Buffer from(count * sizeof(Word), MemoryKind::kDevice), to(count * sizeof(Word), MemoryKind::kDevice);
  for (int round = 0; round < 5; ++round) {
    const auto first = static_cast<Word>(1000 * lane.rank + round);
    const auto before = static_cast<Word>(1000 * lane.previous + round);
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    to.put(std::vector<Word>(count, kPoison));
    lane.fill(from, first, 20000);
    CHECK_OK(MPIX_Isend_enqueue(from.get(), words, MPI_UINT32_T, lane.next, 0, lane.comm(), &requests[0]));
    CHECK_OK(MPIX_Recv_enqueue(to.get(), words, MPI_UINT32_T, lane.previous, 0, lane.comm(), MPI_STATUS_IGNORE));
    CHECK_OK(MPIX_Wait_enqueue(&requests[0], MPI_STATUS_IGNORE));
    expect(copied(lane, to), counting(count, before), "a message");
    CHECK_OK(MPIX_Irecv_enqueue(to.get(), words, MPI_UINT32_T, lane.previous, 1, lane.comm(), &requests[0]));
    lane.fill(from, first + 7, 20000);
    CHECK_OK(MPIX_Isend_enqueue(from.get(), words, MPI_UINT32_T, lane.next, 1, lane.comm(), &requests[1]));
    CHECK_OK(MPIX_Waitall_enqueue(2, requests, MPI_STATUSES_IGNORE));
    expect(copied(lane, to), counting(count, before + 7), "a message that was waited for");
    lane.fill(from, static_cast<Word>(lane.rank), 20000);
    CHECK_OK(MPIX_Allreduce_enqueue(from.get(), to.get(), words, MPI_UINT32_T, MPI_MAX, lane.comm()));
    expect(copied(lane, to), counting(count, static_cast<Word>(lane.size - 1)), "a reduction");
  }
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_FUNNELED);
  if (!hr::test::select_device()) return 0;
  streams::waits_first = argc < 2 || std::strcmp(argv[1], "hang") != 0;
  const streams::Kernels kernels;
  const streams::Lane lane(kernels);
  for (const std::size_t count : {std::size_t{2}, std::size_t{5000}, std::size_t{300000}}) streams::run(lane, count);
  return 0;
}
