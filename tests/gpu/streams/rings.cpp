// Rings of messages: every kind of memory and of stream, and the very first messages.
#include <mpix-device.h>

#include <memory>
#include <string>
#include <vector>

#include "parts.hpp"
#include "ring.hpp"

namespace streams {
namespace {

void ring(const Lane& lane, MemoryKind kind, std::size_t count, const std::string& what) {
  Ring(lane, kind, count).run(what);
}

}  // namespace

void memory(const Kernels& kernels) {
  const Lane lane(kernels);
  for (const MemoryKind kind : hr::test::kAllKinds) {
    for (const std::size_t count : {std::size_t{2}, std::size_t{3000}, std::size_t{200000}}) {
      ring(lane, kind, count, std::string(hr::test::name_of(kind)) + " memory, " + std::to_string(count) + " words");
    }
  }
}

void kinds_of_streams(const Kernels& kernels) {
  for (const Lane::Kind kind : {Lane::Kind::kBlocking, Lane::Kind::kDefault}) {
    const Lane lane(kernels, kind);
    for (const std::size_t count : {std::size_t{2}, std::size_t{200000}}) {
      ring(lane, MemoryKind::kDevice, count,
           kind == Lane::Kind::kBlocking ? "a blocking stream" : "the default stream");
    }
  }
}

// The very first messages, with every kind of memory, while a stream is already waiting: nothing that the library
// creates for them may wait for that stream.
void cold(const Kernels& kernels) {
  const Lane lane(kernels), waiting(kernels);
  Buffer late(64, MemoryKind::kDevice), data(64, MemoryKind::kDevice);
  std::vector<std::unique_ptr<Ring>> rings;
  for (const MemoryKind kind : hr::test::kAllKinds) rings.push_back(std::make_unique<Ring>(lane, kind, 200000));
  gpu::synchronize();
  const bool receives = waiting.rank % 2 == 0 && waiting.rank + 1 < waiting.size;
  if (receives) {
    CHECK_OK(MPIX_Recv_enqueue(late.get(), 16, MPI_UINT32_T, waiting.rank + 1, 0, waiting.comm(), MPI_STATUS_IGNORE));
  }
  for (const auto& each : rings) each->run("the first messages");
  if (waiting.rank % 2 == 1) {
    CHECK_OK(MPIX_Send_enqueue(data.get(), 16, MPI_UINT32_T, waiting.rank - 1, 0, waiting.comm()));
  }
  waiting.wait();
}

}  // namespace streams
