// Persistent collectives that the legacy default stream starts, on device memory: while that stream waits for them,
// nothing of the library may wait for it. On one host or as several, every element checked.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "lane.hpp"

namespace streams {
namespace {

constexpr int kRounds = 2;

// One operation: `init` creates the request; `from` and `to` have `sent` and `received` blocks of `block` words. Word i
// of what a rank sends is rank * 1000003 + i; `wanted` computes word i of what this rank receives.
struct Operation {
  const char* name;
  int sent;
  int received;
  std::function<int(const void*, void*, int, MPI_Comm, MPI_Request*)> init;
  std::function<Word(std::size_t)> wanted;
};

Word word_of(int rank, std::size_t at) { return static_cast<Word>(rank) * 1000003u + static_cast<Word>(at); }

std::vector<Operation> operations(const Lane& lane, std::size_t block) {
  const int size = lane.size, rank = lane.rank;
  const auto sum = [size](std::size_t at) {
    Word all = 0;
    for (int each = 0; each < size; ++each) all += word_of(each, at);
    return all;
  };
  const auto own = static_cast<std::size_t>(rank) * block;
  return {
      {"allgather", 1, size,
       [](const void* from, void* to, int count, MPI_Comm comm, MPI_Request* request) {
         return MPI_Allgather_init(from, count, MPI_UINT32_T, to, count, MPI_UINT32_T, comm, MPI_INFO_NULL, request);
       },
       [block](std::size_t at) { return word_of(static_cast<int>(at / block), at % block); }},
      {"alltoall", size, size,
       [](const void* from, void* to, int count, MPI_Comm comm, MPI_Request* request) {
         return MPI_Alltoall_init(from, count, MPI_UINT32_T, to, count, MPI_UINT32_T, comm, MPI_INFO_NULL, request);
       },
       [block, own](std::size_t at) { return word_of(static_cast<int>(at / block), own + at % block); }},
      {"reduce_scatter_block", size, 1,
       [](const void* from, void* to, int count, MPI_Comm comm, MPI_Request* request) {
         return MPI_Reduce_scatter_block_init(from, to, count, MPI_UINT32_T, MPI_SUM, comm, MPI_INFO_NULL, request);
       },
       [own, sum](std::size_t at) { return sum(own + at); }},
      {"allreduce", size, size,
       [size](const void* from, void* to, int count, MPI_Comm comm, MPI_Request* request) {
         return MPI_Allreduce_init(from, to, size * count, MPI_UINT32_T, MPI_SUM, comm, MPI_INFO_NULL, request);
       },
       sum},
      {"gather", 1, rank == 0 ? size : 0,
       [](const void* from, void* to, int count, MPI_Comm comm, MPI_Request* request) {
         return MPI_Gather_init(from, count, MPI_UINT32_T, to, count, MPI_UINT32_T, 0, comm, MPI_INFO_NULL, request);
       },
       [block](std::size_t at) { return word_of(static_cast<int>(at / block), at % block); }},
      {"scatter", size, 1,
       [size](const void* from, void* to, int count, MPI_Comm comm, MPI_Request* request) {
         return MPI_Scatter_init(from, count, MPI_UINT32_T, to, count, MPI_UINT32_T, size - 1, comm, MPI_INFO_NULL,
                                 request);
       },
       [own, size](std::size_t at) { return word_of(size - 1, own + at); }},
      {"scan", 1, 1,
       [](const void* from, void* to, int count, MPI_Comm comm, MPI_Request* request) {
         return MPI_Scan_init(from, to, count, MPI_UINT32_T, MPI_SUM, comm, MPI_INFO_NULL, request);
       },
       [rank](std::size_t at) {
         Word all = 0;
         for (int each = 0; each <= rank; ++each) all += word_of(each, at);
         return all;
       }},
      {"reduce", 1, rank == 0 ? 1 : 0,
       [](const void* from, void* to, int count, MPI_Comm comm, MPI_Request* request) {
         return MPI_Reduce_init(from, to, count, MPI_UINT32_T, MPI_SUM, 0, comm, MPI_INFO_NULL, request);
       },
       sum},
  };
}

void run(const Lane& lane, const Operation& operation, std::size_t block) {
  const std::string what = std::string(operation.name) + " of " + std::to_string(block) + " words";
  const auto words = [block](int blocks) { return static_cast<std::size_t>(blocks) * block; };
  Buffer from(words(operation.sent) * sizeof(Word), MemoryKind::kDevice);
  Buffer to(std::max<std::size_t>(words(operation.received), 1) * sizeof(Word), MemoryKind::kDevice);
  MPI_Request request = MPI_REQUEST_NULL;
  CHECK_OK(operation.init(from.get(), to.get(), static_cast<int>(block), lane.comm(), &request));
  for (int round = 0; round < kRounds; ++round) {
    to.put(std::vector<Word>(to.size() / sizeof(Word), 0xA5A5A5A5u));
    gpu::synchronize();
    lane.fill(from, word_of(lane.rank, 0), 1000);
    CHECK_OK(MPIX_Startall_enqueue(1, &request, lane.comm()));
    CHECK_OK(MPIX_Wait_enqueue(&request, MPI_STATUS_IGNORE));
    lane.wait();
    std::vector<Word> wanted(to.size() / sizeof(Word), 0xA5A5A5A5u);
    for (std::size_t at = 0; at < words(operation.received); ++at) wanted[at] = operation.wanted(at);
    expect(to.take<Word>(), wanted, what);
  }
  CHECK_OK(MPI_Request_free(&request));
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_SINGLE);
  if (!hr::test::select_device()) return 0;
  const streams::Kernels kernels;
  const streams::Lane lane(kernels, streams::Lane::Kind::kDefault);
  for (const std::size_t block : {std::size_t{1}, std::size_t{1000}, std::size_t{60000}}) {
    for (const streams::Operation& each : streams::operations(lane, block)) streams::run(lane, each, block);
  }
  return 0;
}
