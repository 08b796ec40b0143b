// Measures the driver: the host time of each call that an enqueue makes, beside that of an enqueue; and which calls
// wait while another thread copies to or from pageable memory behind a stream that waits, in the same context and in
// another one. One process.
//
//   mpi_streams_costs [--short]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "lane.hpp"

namespace streams {
namespace {

using Address = unsigned long long;
using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begun) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begun).count();
}

// A batched operation of the driver (CUstreamBatchMemOpParams).
struct Batched {
  enum : int { kWait = 1, kWrite = 2 };
  int kind;
  Address address;
  std::uint64_t value;
  unsigned flags;
  Address alias;
  std::uint64_t unused;
};

struct Calls {
  int (*current)(void**) = driver<int(void**)>("cuCtxGetCurrent");
  int (*capturing)(gpu::Stream, int*) = driver<int(gpu::Stream, int*)>("cuStreamIsCapturing");
  int (*write)(gpu::Stream, Address, std::uint32_t,
               unsigned) = driver<int(gpu::Stream, Address, std::uint32_t, unsigned)>("cuStreamWriteValue32_v2");
  int (*wait)(gpu::Stream, Address, std::uint32_t,
              unsigned) = driver<int(gpu::Stream, Address, std::uint32_t, unsigned)>("cuStreamWaitValue32_v2");
  int (*batch)(gpu::Stream, unsigned, Batched*,
               unsigned) = driver<int(gpu::Stream, unsigned, Batched*, unsigned)>("cuStreamBatchMemOp_v2");
  int (*attribute)(void*, int, Address) = driver<int(void*, int, Address)>("cuPointerGetAttribute");
  int (*copy)(Address, Address, std::size_t,
              gpu::Stream) = driver<int(Address, Address, std::size_t, gpu::Stream)>("cuMemcpyAsync");
  int (*query)(gpu::Stream) = driver<int(gpu::Stream)>("cuStreamQuery");
  int (*push)(void*) = driver<int(void*)>("cuCtxPushCurrent_v2");
  int (*pop)(void**) = driver<int(void**)>("cuCtxPopCurrent_v2");
  int (*create)(void**, unsigned, int) = driver<int(void**, unsigned, int)>("cuCtxCreate_v2");
  int (*destroy)(void*) = driver<int(void*)>("cuCtxDestroy_v2");
};

// Prints the median time of a call.
template <class Call>
void time_call(const char* name, const Lane& lane, bool short_run, const Call& call) {
  const int rounds = short_run ? 3 : 21, times = short_run ? 5 : 100;  // few enough for the stream's queue
  std::vector<double> all;
  for (int round = 0; round < rounds; ++round) {
    const auto begun = Clock::now();
    for (int i = 0; i < times; ++i) call();
    all.push_back(microseconds_since(begun) / times);
    lane.wait();
  }
  std::ranges::nth_element(all, all.begin() + rounds / 2);
  std::printf("host time of %-44s %7.2f us\n", name, all[static_cast<std::size_t>(rounds) / 2]);
}

void costs(const Calls& calls, const Lane& lane, const Buffer& words, const Buffer& data, bool short_run) {
  const auto word = reinterpret_cast<std::uintptr_t>(words.get());
  const gpu::Stream stream = lane.stream();
  const auto batch = [&](std::vector<Batched> all) {
    gpu::check(calls.batch(stream, static_cast<unsigned>(all.size()), all.data(), 0), "cuStreamBatchMemOp");
  };
  const Batched write{Batched::kWrite, word, 1, 0, 0, 0}, wait{Batched::kWait, word, 1, 0, 0, 0};
  time_call("cuCtxGetCurrent", lane, short_run, [&] {
    void* found = nullptr;
    gpu::check(calls.current(&found), "cuCtxGetCurrent");
  });
  time_call("cuStreamIsCapturing", lane, short_run, [&] {
    int found = 0;
    gpu::check(calls.capturing(stream, &found), "cuStreamIsCapturing");
  });
  time_call("cuStreamWriteValue32", lane, short_run,
            [&] { gpu::check(calls.write(stream, word, 1, 0), "cuStreamWriteValue32"); });
  time_call("cuStreamWaitValue32", lane, short_run,
            [&] { gpu::check(calls.wait(stream, word, 1, 0), "cuStreamWaitValue32"); });
  time_call("cuStreamBatchMemOp of a write", lane, short_run, [&] { batch({write}); });
  time_call("cuStreamBatchMemOp of a write and a wait", lane, short_run, [&] { batch({write, wait}); });
  time_call("cuStreamBatchMemOp of a write and two waits", lane, short_run, [&] { batch({write, wait, wait}); });
  time_call("cuLaunchKernel", lane, short_run, [&] { lane.fill(data, 1, 0, 0, 2); });
  time_call("MPIX_Send_enqueue to MPI_PROC_NULL", lane, short_run,
            [&] { CHECK_OK(MPIX_Send_enqueue(data.get(), 2, MPI_UINT32_T, MPI_PROC_NULL, 0, lane.comm())); });
}

// Prints which calls return only once a stream goes on, in which another thread makes a copy of pageable memory.
void blocked(const Calls& calls, const Lane& lane, const Buffer& words, const Buffer& data, bool to_host,
             std::size_t bytes) {
  constexpr auto kEnter = std::chrono::milliseconds(20), kHold = std::chrono::milliseconds(200);
  auto* const word = static_cast<volatile std::uint32_t*>(words.get());
  const auto at = reinterpret_cast<std::uintptr_t>(words.get());
  const auto address = reinterpret_cast<std::uintptr_t>(data.get());
  std::vector<std::byte> pageable(bytes);
  const auto host = reinterpret_cast<std::uintptr_t>(pageable.data());
  const gpu::Stream other = gpu::create_stream(true);
  const int device = gpu::device();
  const auto try_call = [&](const char* name, const auto& call) {
    *word = 0;
    gpu::check(calls.wait(lane.stream(), at, 1, 0), "cuStreamWaitValue32");
    // The driver does not say that a thread is inside it, so the times are guesses.
    double copied = 0;
    std::thread copier([&] {
      gpu::bind_thread(device);
      const auto begun = Clock::now();
      gpu::check(calls.copy(to_host ? host : address, to_host ? address : host, bytes, lane.stream()), "cuMemcpyAsync");
      copied = microseconds_since(begun);
    });
    std::thread opener([&] {
      std::this_thread::sleep_for(kEnter + kHold);
      *word = 1;
    });
    std::this_thread::sleep_for(kEnter);
    const auto begun = Clock::now();
    call();
    const double passed = microseconds_since(begun);
    copier.join();
    opener.join();
    lane.wait();
    gpu::synchronize(other);
    std::printf("%s pageable memory, %zu B: the copy took %.0f us, %-28s %.0f us%s\n", to_host ? "to" : "from", bytes,
                copied, name, passed, passed > 100000 ? " (waited)" : "");
    std::fflush(stdout);
  };
  void* found = nullptr;
  constexpr int kContext = 1;
  try_call("cuCtxGetCurrent", [&] { calls.current(&found); });
  try_call("cuPointerGetAttribute", [&] { calls.attribute(&found, kContext, address); });
  try_call("cuStreamQuery", [&] { calls.query(other); });
  try_call("cuStreamWriteValue32", [&] { calls.write(other, at + 64, 1, 0); });
  try_call("cuMemcpyAsync", [&] { calls.copy(address + 65536, address, 4096, other); });
  try_call("cuMemcpyAsync, pinned", [&] { calls.copy(at + 128, address, 64, other); });
  try_call("cuLaunchKernel", [&] { lane.fill_in(other, data, 1); });

  // The memory belongs to the first context.
  void *second = nullptr, *popped = nullptr;
  gpu::check(calls.create(&second, 0, device), "cuCtxCreate");
  const gpu::Stream elsewhere = gpu::create_stream(true);
  calls.pop(&popped);
  const auto try_elsewhere = [&](const char* name, const auto& call) {
    try_call(name, [&] {
      calls.push(second);
      gpu::check(call(), name);
      gpu::check(calls.pop(&popped), "cuCtxPopCurrent");
    });
  };
  try_elsewhere("elsewhere: cuStreamQuery", [&] { return calls.query(elsewhere); });
  try_elsewhere("elsewhere: cuMemcpyAsync", [&] { return calls.copy(address + 65536, address, 4096, elsewhere); });
  try_elsewhere("elsewhere: the same, pinned", [&] { return calls.copy(at + 128, address, 64, elsewhere); });
  try_elsewhere("elsewhere: cuStreamWriteValue32", [&] { return calls.write(elsewhere, at + 64, 1, 0); });
  calls.push(second);
  gpu::synchronize(elsewhere);
  gpu::destroy_stream(elsewhere);
  calls.pop(&popped);
  gpu::check(calls.destroy(second), "cuCtxDestroy");
  gpu::destroy_stream(other);
}

}  // namespace
}  // namespace streams

int main(int argc, char** argv) {
  const check::Environment mpi(&argc, &argv, 1, MPI_THREAD_MULTIPLE);
  if (!hr::test::select_device()) return 0;
  const bool short_run = argc > 1 && std::strcmp(argv[1], "--short") == 0;
  const streams::Kernels kernels;
  const streams::Calls calls;
  const streams::Buffer words(4096, streams::MemoryKind::kHostPinned), data(1 << 21, streams::MemoryKind::kDevice);
  const streams::Lane lane(kernels);
  *static_cast<std::uint32_t*>(words.get()) = 1;
  streams::costs(calls, lane, words, data, short_run);
  for (const bool to_host : {true, false}) {
    for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 20}) {
      if (!short_run || bytes == 64) streams::blocked(calls, lane, words, data, to_host, bytes);
    }
  }
  return 0;
}
