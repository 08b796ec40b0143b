// Common parts of the tests of collectives: buffers in several layouts of one signature, random choices that are the
// same on all ranks, and one call for the three forms of an operation.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "common/check.hpp"

namespace coll_test {

inline constexpr int kPerElement = 6;  // integers in an element of every shape
inline constexpr int kPoison = -77777777;

// A datatype of six integers, and the offsets of these (in integers, from the element's origin).
struct Shape {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::array<int, kPerElement> offsets{};
  int extent = 0;
};

class Shapes {
 public:
  Shapes() {
    add({0, 1, 2, 3, 4, 5}, 6);     // one run
    add({0, 1, 3, 4, 6, 7}, 9);     // strided
    add({9, 7, 5, 4, 0, 2}, 12);    // out of order
    add({-3, -2, 0, 1, 4, 5}, 10);  // some data before the origin
  }
  ~Shapes() {
    for (Shape& shape : shapes_) MPI_Type_free(&shape.type);
  }
  Shapes(const Shapes&) = delete;
  Shapes& operator=(const Shapes&) = delete;
  [[nodiscard]] int size() const { return static_cast<int>(shapes_.size()); }
  const Shape& operator[](int i) const { return shapes_[static_cast<std::size_t>(i)]; }

 private:
  void add(const std::array<int, kPerElement>& offsets, int extent) {
    Shape shape{MPI_DATATYPE_NULL, offsets, extent};
    MPI_Datatype blocks = MPI_DATATYPE_NULL;
    CHECK_OK(MPI_Type_create_indexed_block(kPerElement, 1, shape.offsets.data(), MPI_INT, &blocks));
    const auto bytes = static_cast<MPI_Aint>(sizeof(int));
    CHECK_OK(MPI_Type_create_resized(blocks, 0, extent * bytes, &shape.type));
    CHECK_OK(MPI_Type_commit(&shape.type));
    CHECK_OK(MPI_Type_free(&blocks));
    shapes_.push_back(shape);
  }
  std::vector<Shape> shapes_;
};

// A communicator, its size, and this process's rank in it.
struct Where {
  MPI_Comm comm;
  int rank = 0;
  int size = 1;
  explicit Where(MPI_Comm c) : comm(c) {
    CHECK_OK(MPI_Comm_rank(comm, &rank));
    CHECK_OK(MPI_Comm_size(comm, &size));
  }
};

// Space for elements of a shape, filled with a poison value; knows which integers belong to an element.
class Buffer {
 public:
  Buffer(const Shape& shape, int elements)
      : shape_(&shape),
        elements_(elements),
        data_(static_cast<std::size_t>(elements * shape.extent + 2 * kMargin), kPoison) {}
  [[nodiscard]] int* address() { return data_.data() + kMargin; }
  [[nodiscard]] MPI_Datatype type() const { return shape_->type; }
  int& at(int element, int k) {
    return data_[static_cast<std::size_t>(kMargin + element * shape_->extent +
                                          shape_->offsets[static_cast<std::size_t>(k)])];
  }
  // Checks that everything outside the elements' data is unchanged.
  void check_holes() {
    std::vector<bool> owned(data_.size(), false);
    for (int element = 0; element < elements_; ++element) {
      for (int k = 0; k < kPerElement; ++k) owned[static_cast<std::size_t>(&at(element, k) - data_.data())] = true;
    }
    for (std::size_t i = 0; i < data_.size(); ++i) {
      if (!owned[i]) CHECK_EQ(data_[i], kPoison);
    }
  }

 private:
  static constexpr int kMargin = 16;
  const Shape* shape_;
  int elements_;
  std::vector<int> data_;
};

// Returns integer k of element `element` of the block from `source` to `target`.
inline int value(int round, int source, int target, int element, int k) {
  std::uint32_t h = 2166136261U;
  for (const int part : {round, source, target, element, k}) h = (h ^ static_cast<std::uint32_t>(part)) * 16777619U;
  return static_cast<int>(h >> 8);
}

// Random choices that are the same on every rank.
class Choices {
 public:
  Choices() {
    unsigned seed = 12345;
    if (const char* text = std::getenv("TEST_SEED")) seed = static_cast<unsigned>(std::atoi(text));
    if (check::world_rank() == 0) std::printf("TEST_SEED=%u\n", seed);
    engine_.seed(seed);
  }
  int below(int limit) { return static_cast<int>(engine_() % static_cast<unsigned>(limit)); }
  bool flip() { return below(2) == 1; }

 private:
  std::mt19937 engine_;
};

// Communicators of all ranks in their order, in reverse order and in a random order, so that a host's ranks may be
// anywhere, and one of a subset of the ranks.
class Communicators {
 public:
  Communicators(int rank, int size, Choices& choices) {
    std::vector<int> keys(static_cast<std::size_t>(size));
    for (int& key : keys) key = choices.below(1000);
    const int least = choices.below(size);
    const auto own = static_cast<std::size_t>(rank);
    const bool in = size < 3 || keys[own] % 3 != 0 || rank == least || rank == (least + 1) % size;
    comms_[0] = MPI_COMM_WORLD;
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms_[1]));
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, 0, keys[own], &comms_[2]));
    CHECK_OK(MPI_Comm_split(MPI_COMM_WORLD, in ? 0 : MPI_UNDEFINED, keys[own], &comms_[3]));
  }
  ~Communicators() {
    for (std::size_t i = 1; i < comms_.size(); ++i)
      if (comms_[i] != MPI_COMM_NULL) MPI_Comm_free(&comms_[i]);
  }
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;
  // Returns the same communicator on all ranks, but MPI_COMM_NULL on those that are not in it.
  MPI_Comm any(Choices& choices) const { return comms_[static_cast<std::size_t>(choices.below(4))]; }

 private:
  std::array<MPI_Comm, 4> comms_{};
};

// Returns a random root, the same for ranks within and outside the communicator.
inline int any_root(Choices& choices, int size) { return choices.below(1 << 20) % size; }

enum class Form { kBlocking, kNonblocking, kPersistent };

inline void wait(MPI_Request* request, bool by_test) {
  if (!by_test) {
    CHECK_OK(MPI_Wait(request, MPI_STATUS_IGNORE));
    return;
  }
  int done = 0;
  while (done == 0) CHECK_OK(MPI_Test(request, &done, MPI_STATUS_IGNORE));
}

// All forms of an operation take the same arguments; the non-blocking one also takes a request, and the persistent one
// an info and a request.
template <class Blocking, class Nonblocking, class Persistent, class... Arguments>
void execute(Form form, Blocking blocking, Nonblocking nonblocking, Persistent persistent, Arguments... arguments) {
  MPI_Request request = MPI_REQUEST_NULL;
  switch (form) {
    case Form::kBlocking:
      CHECK_OK(blocking(arguments...));
      break;
    case Form::kNonblocking:
      CHECK_OK(nonblocking(arguments..., &request));
      wait(&request, sizeof...(arguments) % 2 == 0);
      CHECK(request == MPI_REQUEST_NULL);
      break;
    case Form::kPersistent:
      CHECK_OK(persistent(arguments..., MPI_INFO_NULL, &request));
      CHECK_OK(MPI_Start(&request));
      wait(&request, sizeof...(arguments) % 2 == 1);
      CHECK(request != MPI_REQUEST_NULL);
      CHECK_OK(MPI_Request_free(&request));
      break;
  }
}
// EXECUTE(form, B, b, cast, buffer, ...) uses MPI_Bcast, MPI_Ibcast or MPI_Bcast_init. The initial letter of the
// operation is passed in upper and in lower case.
#define EXECUTE(form, Initial, initial, rest, ...) \
  ::coll_test::execute(form, MPI_##Initial##rest, MPI_I##initial##rest, MPI_##Initial##rest##_init, __VA_ARGS__)

}  // namespace coll_test
