// Memory of any kind for programs of several ranks: filled and read from the host, and the kinds worth trying.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "common/check.hpp"
#include "device_memory.hpp"

namespace hr::test {

// Selects the device of this rank on its node. False if there are no devices: process 0 then prints a message, and the
// program should exit with success.
inline bool select_device() {
  if (!gpu::available()) {
    int rank = 0;
    CHECK_OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    if (rank == 0) std::printf("skipped: no CUDA device\n");
    return false;
  }
  MPI_Comm node = MPI_COMM_NULL;
  CHECK_OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
  int rank = 0;
  CHECK_OK(MPI_Comm_rank(node, &rank));
  CHECK_OK(MPI_Comm_free(&node));
  gpu::select(rank);
  return true;
}

// Returns bytes that depend on a salt and their position, the same on every rank.
inline std::vector<std::byte> content(std::size_t bytes, unsigned salt) {
  std::vector<std::byte> made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    made[i] = static_cast<std::byte>(((i + 1) * (2654435761u + salt * 40503u)) >> 11);
  }
  return made;
}

class Buffer : public DeviceMemory {
 public:
  Buffer(std::size_t bytes, MemoryKind kind) : DeviceMemory(bytes, kind, gpu::device()) {}
  template <class T>
  void put(const std::vector<T>& values) {
    write(std::as_bytes(std::span(values)));
  }
  template <class T>
  [[nodiscard]] std::vector<T> take() const {
    const std::vector<std::byte> bytes = read();
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
};

}  // namespace hr::test
