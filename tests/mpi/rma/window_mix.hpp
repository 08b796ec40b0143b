// Random operations of one thread on a window, all values checked. Each rank's part has a region for each origin, which
// only that origin changes, so that the origin knows every value; one WindowMix per rank and window, used by one thread
// at a time. Construction and destruction are collective.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "window_memory.hpp"

namespace rma_test {

class WindowMix {
 public:
  using Random = std::mt19937;

  WindowMix(const std::string& kind, MPI_Comm comm) : comm_(comm), memory_(kind, bytes(comm), 8, comm) {
    CHECK_OK(MPI_Comm_rank(comm, &rank_));
    CHECK_OK(MPI_Comm_size(comm, &size_));
    auto* const own = static_cast<std::int64_t*>(memory_.own());
    for (int i = 0; i < size_ * kElements; ++i) own[i] = initial(i % kElements);
    model_.resize(static_cast<std::size_t>(size_));
    for (auto& each : model_) {
      for (int i = 0; i < kElements; ++i) each.push_back(initial(i));
    }
    CHECK_OK(MPI_Type_vector(kBlocks, 1, 3, MPI_INT64_T, &strided_));
    CHECK_OK(MPI_Type_commit(&strided_));
    CHECK_OK(MPI_Barrier(comm));
  }
  // Checks this process's part, once all origins have finished.
  ~WindowMix() {
    CHECK_OK(MPI_Win_lock_all(0, memory_.window));
    for (int target = 0; target < size_; ++target) check(target, 0, kElements);
    CHECK_OK(MPI_Win_unlock_all(memory_.window));
    CHECK_OK(MPI_Type_free(&strided_));
    CHECK_OK(MPI_Barrier(comm_));
  }
  WindowMix(const WindowMix&) = delete;
  WindowMix& operator=(const WindowMix&) = delete;

  // Performs `operations` operations in one epoch; returns with the epoch closed.
  void epoch(Random& random, int operations) {
    const MPI_Win win = memory_.window;
    const int how = draw(random, 3);
    const int locked = draw(random, size_);
    if (how == 0) CHECK_OK(MPI_Win_lock_all(0, win));
    if (how != 0) CHECK_OK(MPI_Win_lock(how == 1 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, locked, 0, win));
    for (int i = 0; i < operations; ++i) operate(random, how == 0 ? draw(random, size_) : locked);
    if (how == 0) CHECK_OK(MPI_Win_unlock_all(win));
    if (how != 0) CHECK_OK(MPI_Win_unlock(locked, win));
  }

 private:
  static constexpr int kElements = 9000;  // of a region
  static constexpr int kBlocks = 20;      // elements of `strided_`

  static std::int64_t initial(int i) { return 1000000 + 3 * i; }
  static int draw(Random& random, int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); }
  static std::size_t bytes(MPI_Comm comm) {
    int size = 0;
    CHECK_OK(MPI_Comm_size(comm, &size));
    return sizeof(std::int64_t) * kElements * static_cast<std::size_t>(size);
  }
  MPI_Aint at(int target, int element) const {
    return memory_.displacement(target, sizeof(std::int64_t) * static_cast<std::size_t>(rank_ * kElements + element));
  }
  std::int64_t& model(int target, int element) {
    return model_[static_cast<std::size_t>(target)][static_cast<std::size_t>(element)];
  }

  void flush(Random& random, int target) {
    const MPI_Win win = memory_.window;
    const int how = draw(random, 3);
    CHECK_OK(how == 0 ? MPI_Win_flush_all(win) : MPI_Win_flush(target, win));
    if (how == 2) CHECK_OK(MPI_Win_sync(win));
  }

  // Gets elements, and compares them with the model.
  void check(int target, int first, int count) {
    std::vector<std::int64_t> found(static_cast<std::size_t>(count), -1);
    CHECK_OK(MPI_Get(found.data(), count, MPI_INT64_T, target, at(target, first), count, MPI_INT64_T, memory_.window));
    CHECK_OK(MPI_Win_flush_local(target, memory_.window));
    for (int i = 0; i < count; ++i) CHECK_EQ(found[static_cast<std::size_t>(i)], model(target, first + i));
  }

  void operate(Random& random, int target) {
    const MPI_Win win = memory_.window;
    const int count = draw(random, 8) == 0 ? 1 + draw(random, kElements) : 1 + draw(random, 4);
    const int first = draw(random, kElements - count + 1);
    const MPI_Aint there = at(target, first);
    std::vector<std::int64_t> data(static_cast<std::size_t>(count));
    for (std::int64_t& each : data) each = draw(random, 1 << 30);
    std::vector<std::int64_t> before(data.size(), -1);
    MPI_Request request = MPI_REQUEST_NULL;
    const int operation = draw(random, 11);
    const bool adds = operation >= 3 && operation <= 5;
    const bool replaces = operation <= 2;
    switch (operation) {
      case 0:
        CHECK_OK(MPI_Put(data.data(), count, MPI_INT64_T, target, there, count, MPI_INT64_T, win));
        break;
      case 1:
        CHECK_OK(MPI_Rput(data.data(), count, MPI_INT64_T, target, there, count, MPI_INT64_T, win, &request));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
      case 2:
        CHECK_OK(MPI_Accumulate(data.data(), count, MPI_INT64_T, target, there, count, MPI_INT64_T, MPI_REPLACE, win));
        break;
      case 3:
        CHECK_OK(MPI_Accumulate(data.data(), count, MPI_INT64_T, target, there, count, MPI_INT64_T, MPI_SUM, win));
        break;
      case 4:
        CHECK_OK(MPI_Get_accumulate(data.data(), count, MPI_INT64_T, before.data(), count, MPI_INT64_T, target, there,
                                    count, MPI_INT64_T, MPI_SUM, win));
        break;
      case 5:
        CHECK_OK(MPI_Raccumulate(data.data(), count, MPI_INT64_T, target, there, count, MPI_INT64_T, MPI_SUM, win,
                                 &request));
        CHECK_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        break;
      case 6:
      case 7:
        return update_one(random, target, first);
      case 8:
        return swap(random, target, first);
      case 9:
        return put_strided(random, target);
      default:
        return check(target, first, count);
    }
    flush(random, target);
    for (int i = 0; i < count; ++i) {
      std::int64_t& value = model(target, first + i);
      if (operation == 4) CHECK_EQ(before[static_cast<std::size_t>(i)], value);
      const std::int64_t given = data[static_cast<std::size_t>(i)];
      value = replaces ? given : adds ? value + given : value;
    }
    if (draw(random, 2) == 0) check(target, first, count);
  }

  void update_one(Random& random, int target, int element) {
    const MPI_Op ops[] = {MPI_SUM, MPI_REPLACE, MPI_NO_OP, MPI_MAX};
    const MPI_Op op = ops[draw(random, 4)];
    const std::int64_t value = draw(random, 1 << 30);
    std::int64_t before = -1;
    CHECK_OK(MPI_Fetch_and_op(&value, &before, MPI_INT64_T, target, at(target, element), op, memory_.window));
    flush(random, target);
    std::int64_t& now = model(target, element);
    CHECK_EQ(before, now);
    if (op == MPI_SUM) now += value;
    if (op == MPI_REPLACE) now = value;
    if (op == MPI_MAX) now = std::max(now, value);
  }

  void swap(Random& random, int target, int element) {
    std::int64_t& now = model(target, element);
    const std::int64_t value = draw(random, 1 << 30);
    const std::int64_t compare = draw(random, 2) == 0 ? now : now + 1;
    std::int64_t before = -1;
    CHECK_OK(MPI_Compare_and_swap(&value, &compare, &before, MPI_INT64_T, target, at(target, element), memory_.window));
    flush(random, target);
    CHECK_EQ(before, now);
    if (compare == now) now = value;
  }

  // Puts every third element of the target, from contiguous data.
  void put_strided(Random& random, int target) {
    const int first = draw(random, kElements - 3 * kBlocks);
    std::vector<std::int64_t> data(kBlocks);
    for (std::int64_t& each : data) each = draw(random, 1 << 30);
    CHECK_OK(MPI_Put(data.data(), kBlocks, MPI_INT64_T, target, at(target, first), 1, strided_, memory_.window));
    flush(random, target);
    for (int i = 0; i < kBlocks; ++i) model(target, first + 3 * i) = data[static_cast<std::size_t>(i)];
    check(target, first, 3 * kBlocks);
  }

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 0;
  WindowMemory memory_;
  std::vector<std::vector<std::int64_t>> model_;  // by target
  MPI_Datatype strided_ = MPI_DATATYPE_NULL;
};

}  // namespace rma_test
