// Reduction: a persistent allreduce of any type, operation and memory, whose result is compared with MPI_Reduce_local.
//
// Owner: RAII. Threads: the device's context must be current.
#pragma once

#include <cstdlib>
#include <cstring>
#include <random>

#include "lane.hpp"

namespace streams {

using Bytes = std::vector<unsigned char>;

// An element type, and values whose sums and products stay in range. If `exact`, results do not depend on
// the order of the operands.
struct Type {
  const char* name;
  MPI_Datatype type;
  std::size_t bytes;
  void (*make)(std::mt19937& random, bool exact, unsigned char* element);
};

template <class T>
void small_number(std::mt19937& random, bool /*exact*/, unsigned char* element) {
  const T value = static_cast<T>(static_cast<int>(random() % 9) - (std::is_signed_v<T> ? 4 : 0));
  std::memcpy(element, &value, sizeof value);
}
template <class T>
void fraction(std::mt19937& random, bool exact, unsigned char* element) {
  if (exact) return small_number<T>(random, exact, element);
  const T value = static_cast<T>(random() % 4096) / static_cast<T>(3000) - static_cast<T>(0.5);
  std::memcpy(element, &value, sizeof value);
}
// Values of 16-bit types are between 1 and 2.
template <std::uint16_t kOne, std::uint16_t kFraction>
void short_real(std::mt19937& random, bool exact, unsigned char* element) {
  const auto more = static_cast<unsigned>(random());
  const auto value =
      static_cast<std::uint16_t>(exact ? kOne + (kFraction + 1) * (more % 2) : kOne | (more & kFraction));
  std::memcpy(element, &value, sizeof value);
}
inline void value_and_index(std::mt19937& random, bool /*exact*/, unsigned char* element) {
  const int values[2] = {static_cast<int>(random() % 5), static_cast<int>(random() % 1000)};
  std::memcpy(element, values, sizeof values);
}

inline const Type kTypes[] = {{"uint32", MPI_UINT32_T, 4, small_number<std::uint32_t>},
                              {"int32", MPI_INT32_T, 4, small_number<std::int32_t>},
                              {"uint64", MPI_UINT64_T, 8, small_number<std::uint64_t>},
                              {"int64", MPI_INT64_T, 8, small_number<std::int64_t>},
                              {"float16", MPIX_C_FLOAT16, 2, short_real<0x3c00, 0x3ff>},
                              {"bfloat16", MPIX_BFLOAT16, 2, short_real<0x3f80, 0x7f>},
                              {"float", MPI_FLOAT, 4, fraction<float>},
                              {"double", MPI_DOUBLE, 8, fraction<double>}};
inline constexpr int kIntegers = 4;  // the first of them

struct Op {
  const char* name;
  MPI_Op op;
};
inline const Op kOps[] = {{"sum", MPI_SUM},   {"prod", MPI_PROD}, {"min", MPI_MIN},  {"max", MPI_MAX},
                          {"band", MPI_BAND}, {"bor", MPI_BOR},   {"bxor", MPI_BXOR}};
inline constexpr int kOfReals = 4;  // the first of them

struct What {
  Type type;
  Op op;
  std::size_t count = 1;
  MemoryKind kind = MemoryKind::kDevice;
  bool in_place = false;
  std::size_t offset = 0;  // elements before the buffers
  bool by_streams = true;  // if the devices can
};

class Reduction {
 public:
  Reduction(const Lane& lane, const What& what, bool exact)
      : lane_(lane),
        what_(what),
        exact_(exact),
        from_(bytes() + before(), what.kind),
        to_(bytes() + before(), what.kind) {
    const void* from = what.in_place ? MPI_IN_PLACE : static_cast<unsigned char*>(from_.get()) + before();
    CHECK_OK(MPI_Allreduce_init(from, static_cast<unsigned char*>(to_.get()) + before(), static_cast<int>(what.count),
                                what.type.type, what.op.op, lane.comm(), MPI_INFO_NULL, &request));
  }
  ~Reduction() {
    if (request != MPI_REQUEST_NULL) CHECK_OK(MPI_Request_free(&request));
  }
  Reduction(const Reduction&) = delete;
  Reduction& operator=(const Reduction&) = delete;

  void put(unsigned seed) {
    (what_.in_place ? to_ : from_).put(values(lane_.rank, seed));
    if (!what_.in_place) to_.put(Bytes(bytes() + before(), 0xa5));
  }
  // Combines the operands from the first rank to the last, so all ranks get bitwise identical results.
  void check(unsigned seed, const char* where) {
    Bytes wanted = values(0, seed);
    for (int rank = 1; rank < lane_.size; ++rank) {
      Bytes next = values(rank, seed);
      CHECK_OK(MPI_Reduce_local(wanted.data() + before(), next.data() + before(), static_cast<int>(what_.count),
                                what_.type.type, what_.op.op));
      wanted = next;
    }
    const Bytes found = to_.take<unsigned char>();
    if (std::memcmp(found.data() + before(), wanted.data() + before(), bytes()) == 0) return;
    check::fail(__FILE__, __LINE__,
                std::string(what_.op.name) + " of " + std::to_string(what_.count) + " " + what_.type.name + ", " +
                    where + ", seed " + std::to_string(seed) + ": wrong");
  }
  [[nodiscard]] bool by_streams() const { return what_.by_streams; }

  MPI_Request request = MPI_REQUEST_NULL;

 private:
  [[nodiscard]] std::size_t bytes() const { return what_.count * what_.type.bytes; }
  [[nodiscard]] std::size_t before() const { return what_.offset * what_.type.bytes; }
  [[nodiscard]] Bytes values(int rank, unsigned seed) const {
    Bytes made(before() + bytes(), 0);
    std::mt19937 random(seed * 1000 + static_cast<unsigned>(rank));
    for (std::size_t i = 0; i < what_.count; ++i)
      what_.type.make(random, exact_, made.data() + before() + i * what_.type.bytes);
    return made;
  }

  const Lane& lane_;
  What what_;
  bool exact_;
  Buffer from_, to_;
};

}  // namespace streams
