// Atomicity and mutual exclusion: counters that all ranks update at once with every kind of update, on windows of every
// kind (argument), and critical sections protected by an exclusive lock.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "window_memory.hpp"

namespace {

using rma_test::WindowMemory;

constexpr int kTimes = 200;

template <class Value>
Value& at(const WindowMemory& memory, int index) {
  return static_cast<Value*>(memory.own())[index];
}

// Draws tickets: every number occurs once.
void tickets(const check::Environment& mpi, const std::string& kind) {
  WindowMemory memory(kind, 64, 8);
  at<std::int64_t>(memory, 0) = 0;
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  std::vector<std::int64_t> mine;
  CHECK_OK(MPI_Win_lock_all(0, memory.window));
  const std::int64_t one = 1;
  for (int i = 0; i < kTimes; ++i) {
    std::int64_t ticket = -1;
    CHECK_OK(MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, memory.displacement(0, 0), MPI_SUM, memory.window));
    CHECK_OK(MPI_Win_flush(0, memory.window));
    CHECK(mine.empty() || ticket > mine.back());
    mine.push_back(ticket);
  }
  CHECK_OK(MPI_Win_unlock_all(memory.window));
  std::vector<std::int64_t> all(mine.size() * static_cast<std::size_t>(mpi.size));
  CHECK_OK(MPI_Allgather(mine.data(), kTimes, MPI_INT64_T, all.data(), kTimes, MPI_INT64_T, MPI_COMM_WORLD));
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i < all.size(); ++i) CHECK_EQ(all[i], i);
}

// Compare-and-swap returns the old value, whether it swaps or not. Each rank has its own element of each target.
template <class Value>
void swaps_tell(const check::Environment& mpi, const std::string& kind, MPI_Datatype type) {
  WindowMemory memory(kind, static_cast<std::size_t>(mpi.size) * sizeof(Value), static_cast<int>(sizeof(Value)));
  for (int i = 0; i < mpi.size; ++i) at<Value>(memory, i) = Value(5);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock_all(0, memory.window));
  for (int target = 0; target < mpi.size; ++target) {
    const MPI_Aint place = memory.displacement(target, static_cast<std::size_t>(mpi.rank) * sizeof(Value));
    const auto swap = [&](int compare, int wanted) {
      const auto expected = Value(compare);
      const auto value = Value(wanted);
      auto found = Value(-1);
      CHECK_OK(MPI_Compare_and_swap(&value, &expected, &found, type, target, place, memory.window));
      CHECK_OK(MPI_Win_flush(target, memory.window));
      return found;
    };
    CHECK_EQ(swap(5, 9), 5);
    CHECK_EQ(swap(5, 7), 9);
    CHECK_EQ(swap(9, 3), 9);
    CHECK_EQ(swap(3, 3), 3);
  }
  CHECK_OK(MPI_Win_unlock_all(memory.window));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

// One number is updated with additions of all forms, some non-blocking, with compare-and-swap loops, and by its owner.
template <class Value>
void sums(const check::Environment& mpi, const std::string& kind, MPI_Datatype type, bool swaps) {
  WindowMemory memory(kind, 16 * sizeof(Value), static_cast<int>(sizeof(Value)));
  for (int i = 0; i < 16; ++i) at<Value>(memory, i) = Value(0);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock_all(0, memory.window));
  const std::vector<Value> ones(4, Value(1));
  for (int i = 0; i < kTimes; ++i) {
    for (int target = 0; target < mpi.size; ++target) {
      const MPI_Aint place = memory.displacement(target, 0);
      CHECK_OK(MPI_Accumulate(ones.data(), 4, type, target, place, 4, type, MPI_SUM, memory.window));
      Value before[4];
      if (i % 8 == 0) {
        CHECK_OK(
            MPI_Get_accumulate(ones.data(), 4, type, before, 4, type, target, place, 4, type, MPI_SUM, memory.window));
        CHECK_OK(MPI_Win_flush(target, memory.window));
        CHECK(before[0] == before[0] && !(before[0] == Value(-1)));
      }
      for (bool done = !swaps; !done;) {
        Value seen;
        Value wanted;
        CHECK_OK(MPI_Fetch_and_op(nullptr, &seen, type, target, place, MPI_NO_OP, memory.window));
        CHECK_OK(MPI_Win_flush(target, memory.window));
        wanted = seen + Value(1);
        Value found;
        CHECK_OK(MPI_Compare_and_swap(&wanted, &seen, &found, type, target, place, memory.window));
        CHECK_OK(MPI_Win_flush(target, memory.window));
        done = found == seen;
      }
    }
  }
  CHECK_OK(MPI_Win_unlock_all(memory.window));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, mpi.rank, 0, memory.window));
  const int adds = kTimes + kTimes / 8;
  for (int i = 0; i < 4; ++i) CHECK(at<Value>(memory, i) == Value(mpi.size * (adds + (i == 0 && swaps ? kTimes : 0))));
  CHECK_OK(MPI_Win_unlock(mpi.rank, memory.window));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Reads, adds and writes: correct only under mutual exclusion.
void exclusion(const check::Environment& mpi, const std::string& kind) {
  WindowMemory memory(kind, 64, 1);
  at<int>(memory, 0) = 0;
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  for (int i = 0; i < kTimes; ++i) {
    const int target = i % mpi.size;
    const MPI_Aint place = memory.displacement(target, 0);
    int value = -1;
    CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, memory.window));
    CHECK_OK(MPI_Get(&value, 1, MPI_INT, target, place, 1, MPI_INT, memory.window));
    CHECK_OK(MPI_Win_flush(target, memory.window));
    ++value;
    CHECK_OK(MPI_Put(&value, 1, MPI_INT, target, place, 1, MPI_INT, memory.window));
    CHECK_OK(MPI_Win_unlock(target, memory.window));
    if (i % 5 == 0) {  // readers among the writers
      CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, memory.window));
      for (int again = 0; again < 10; ++again) {  // the value does not change while this rank holds the lock
        int other = -1;
        CHECK_OK(MPI_Get(&other, 1, MPI_INT, target, place, 1, MPI_INT, memory.window));
        CHECK_OK(MPI_Win_flush(target, memory.window));
        CHECK(again == 0 ? other >= value : other == value);
        value = other;
      }
      CHECK_OK(MPI_Win_unlock(target, memory.window));
    }
  }
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, mpi.rank, 0, memory.window));
  const int rounds = kTimes / mpi.size + (mpi.rank < kTimes % mpi.size ? 1 : 0);
  CHECK_EQ(at<int>(memory, 0), rounds * mpi.size);
  CHECK_OK(MPI_Win_unlock(mpi.rank, memory.window));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
}

// Single elements are updated while another rank starts to use vectors at the same location: once in each window.
void vectors_among_elements(const check::Environment& mpi, const std::string& kind) {
  constexpr int kLength = 2048, kElements = 2000, kVectors = 60;
  const std::vector<std::int64_t> ones(kLength, 1);
  for (int round = 0; round < 12; ++round) {
    WindowMemory memory(kind, kLength * 8, 8);
    for (int i = 0; i < kLength; ++i) at<std::int64_t>(memory, i) = 0;
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    CHECK_OK(MPI_Win_lock_all(0, memory.window));
    const MPI_Aint place = memory.displacement(0, 0);
    const bool adds_vectors = mpi.rank == round % mpi.size;
    const int length = adds_vectors ? kLength : 1;
    for (int i = 0; i < (adds_vectors ? kVectors : kElements); ++i)
      CHECK_OK(MPI_Accumulate(ones.data(), length, MPI_INT64_T, 0, place, length, MPI_INT64_T, MPI_SUM, memory.window));
    CHECK_OK(MPI_Win_unlock_all(memory.window));
    CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
    if (mpi.rank != 0) continue;
    CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, memory.window));
    CHECK_EQ(at<std::int64_t>(memory, 0), kVectors + kElements * (mpi.size - 1));
    for (int i = 1; i < kLength; ++i) CHECK_EQ(at<std::int64_t>(memory, i), kVectors);
    CHECK_OK(MPI_Win_unlock(0, memory.window));
  }
}

// Accumulates from one origin to one location are applied in order, both short and long ones.
void order(const check::Environment& mpi, const std::string& kind) {
  constexpr int kLong = 20000;
  WindowMemory memory(kind, kLong * sizeof(int), 4);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  const int target = (mpi.rank + 1) % mpi.size;
  const MPI_Aint place = memory.displacement(target, 0);
  std::vector<std::vector<int>> values;
  for (int i = 0; i < 20; ++i) values.emplace_back(kLong, i);
  CHECK_OK(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, memory.window));
  for (int i = 0; i < 20; ++i) {
    const int length = i % 3 == 1 ? kLong : 2;
    CHECK_OK(MPI_Accumulate(values[static_cast<std::size_t>(i)].data(), length, MPI_INT, target, place, length, MPI_INT,
                            MPI_REPLACE, memory.window));
  }
  int found[2] = {-1, -1};
  CHECK_OK(
      MPI_Get_accumulate(nullptr, 0, MPI_INT, found, 2, MPI_INT, target, place, 2, MPI_INT, MPI_NO_OP, memory.window));
  CHECK_OK(MPI_Win_unlock(target, memory.window));
  CHECK_EQ(found[0], 19);
  CHECK_EQ(found[1], 19);
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_EQ(at<int>(memory, kLong - 1), 19);
}

struct Pair {
  double value;
  int index;
};

// Pairs are updated as a whole.
void pairs(const check::Environment& mpi, const std::string& kind) {
  WindowMemory memory(kind, 2 * sizeof(Pair), 1);
  for (int i = 0; i < 2; ++i) at<Pair>(memory, i) = {-1, -1};
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK_OK(MPI_Win_lock_all(0, memory.window));
  std::vector<Pair> all;
  for (int i = 0; i < kTimes; ++i) {
    all.push_back({static_cast<double>(i * mpi.size + mpi.rank), i * mpi.size + mpi.rank});
    all.push_back({static_cast<double>(-i - 2), mpi.rank});
  }
  for (int i = 0; i < kTimes; ++i) {
    const Pair* const mine = &all[static_cast<std::size_t>(2 * i)];
    CHECK_OK(MPI_Accumulate(mine, 2, MPI_DOUBLE_INT, 0, memory.displacement(0, 0), 2, MPI_DOUBLE_INT, MPI_MAXLOC,
                            memory.window));
  }
  CHECK_OK(MPI_Win_unlock_all(memory.window));
  CHECK_OK(MPI_Barrier(MPI_COMM_WORLD));
  if (mpi.rank != 0) return;
  CHECK_EQ(at<Pair>(memory, 0).index, kTimes * mpi.size - 1);
  CHECK_EQ(at<Pair>(memory, 0).value, kTimes * mpi.size - 1);
  CHECK_EQ(at<Pair>(memory, 1).index, -1);
}

// Every operation of the table, once, compared with the C++ result.
void operations(const check::Environment& mpi, const std::string& kind) {
  WindowMemory memory(kind, 64, 4);
  const int target = (mpi.rank + 1) % mpi.size;
  const MPI_Op ops[] = {MPI_MIN, MPI_MAX, MPI_SUM,  MPI_PROD, MPI_LAND,    MPI_BAND,
                        MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_REPLACE, MPI_NO_OP};
  const int a = 12;
  const int b = 10;
  const int wanted[] = {10, 12, 22, 120, 1, 8, 1, 14, 0, 6, 10, 12};
  for (int i = 0; i < 12; ++i) {
    at<int>(memory, 0) = a;
    CHECK_OK(MPI_Win_fence(0, memory.window));
    int before = -1;
    CHECK_OK(MPI_Fetch_and_op(&b, &before, MPI_INT, target, memory.displacement(target, 0), ops[i], memory.window));
    CHECK_OK(MPI_Win_fence(0, memory.window));
    CHECK_EQ(before, a);
    CHECK_EQ(at<int>(memory, 0), wanted[i]);
  }
  CHECK_OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, memory.window));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "allocate";
  const check::Environment mpi(&argc, &argv);
  tickets(mpi, kind);
  swaps_tell<std::int64_t>(mpi, kind, MPI_INT64_T);
  swaps_tell<std::uint32_t>(mpi, kind, MPI_UINT32_T);
  swaps_tell<std::int16_t>(mpi, kind, MPI_INT16_T);
  swaps_tell<unsigned char>(mpi, kind, MPI_BYTE);
  sums<int>(mpi, kind, MPI_INT, true);
  sums<std::int64_t>(mpi, kind, MPI_INT64_T, true);
  sums<short>(mpi, kind, MPI_SHORT, true);
  sums<float>(mpi, kind, MPI_FLOAT, false);
  sums<double>(mpi, kind, MPI_DOUBLE, false);
  sums<long double>(mpi, kind, MPI_LONG_DOUBLE, false);
  vectors_among_elements(mpi, kind);
  exclusion(mpi, kind);
  order(mpi, kind);
  pairs(mpi, kind);
  operations(mpi, kind);
  return 0;
}
