// A window of any kind for tests: creates and frees it, and returns the address and displacement to use for each rank.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "common/check.hpp"

namespace rma_test {

// `bytes` bytes of memory in a window of the kind "create", "allocate", "shared" or "dynamic". Construction is
// collective.
class WindowMemory {
 public:
  // `memory`: memory for "create" and "dynamic"; if null, it is allocated from the heap.
  WindowMemory(const std::string& kind, std::size_t bytes, int unit, MPI_Comm comm = MPI_COMM_WORLD,
               void* memory = nullptr, MPI_Info info = MPI_INFO_NULL)
      : kind_(kind), own_(memory) {
    const auto size = static_cast<MPI_Aint>(bytes);
    if (own_ == nullptr && (kind == "create" || kind == "dynamic")) {
      heap_.resize(bytes + 8);
      own_ = heap_.data();
    }
    if (kind == "create") {
      CHECK_OK(MPI_Win_create(own_, size, unit, info, comm, &window));
    } else if (kind == "allocate") {
      CHECK_OK(MPI_Win_allocate(size, unit, info, comm, &own_, &window));
    } else if (kind == "shared") {
      CHECK_OK(MPI_Win_allocate_shared(size, unit, info, comm, &own_, &window));
    } else {
      CHECK_OK(MPI_Win_create_dynamic(info, comm, &window));
      CHECK_OK(MPI_Win_attach(window, own_, size));
    }
    int ranks = 0;
    CHECK_OK(MPI_Comm_size(comm, &ranks));
    units_.resize(static_cast<std::size_t>(ranks));
    starts_.resize(static_cast<std::size_t>(ranks));
    MPI_Aint start = 0;
    if (kind == "dynamic") {
      unit = 1;
      CHECK_OK(MPI_Get_address(own_, &start));
    }
    CHECK_OK(MPI_Allgather(&unit, 1, MPI_INT, units_.data(), 1, MPI_INT, comm));
    CHECK_OK(MPI_Allgather(&start, 1, MPI_AINT, starts_.data(), 1, MPI_AINT, comm));
  }
  ~WindowMemory() {
    if (kind_ == "dynamic") {
      // Waits until no rank uses the window.
      MPI_Group group;
      CHECK_OK(MPI_Win_get_group(window, &group));
      CHECK_OK(MPI_Group_free(&group));
      CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
      CHECK_OK(MPI_Win_detach(window, own_));
    }
    CHECK_OK(MPI_Win_free(&window));
    CHECK(window == MPI_WIN_NULL);
  }
  WindowMemory(const WindowMemory&) = delete;
  WindowMemory& operator=(const WindowMemory&) = delete;

  // Returns the target_disp of a byte in a rank's memory; `byte` is a multiple of the rank's displacement unit.
  MPI_Aint displacement(int rank, std::size_t byte) const {
    const auto at = static_cast<std::size_t>(rank);
    return starts_[at] + static_cast<MPI_Aint>(byte) / units_[at];
  }
  int unit(int rank) const { return units_[static_cast<std::size_t>(rank)]; }
  void* own() const { return own_; }

  MPI_Win window = MPI_WIN_NULL;

 private:
  std::string kind_;
  void* own_;
  std::vector<std::byte> heap_;
  std::vector<int> units_;
  std::vector<MPI_Aint> starts_;
};

}  // namespace rma_test
