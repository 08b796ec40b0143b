#include "element.hpp"

#include <complex>
#include <cstring>

#include "common/check.hpp"

namespace random_collectives {
namespace {

enum Family : unsigned {
  kOrder = 1,       // minimum and maximum
  kArithmetic = 2,  // sum and product
  kComplexSum = 4,  // sum of both numbers
  kBits = 8,
  kTruth = 16,
  kLocation = 32,
  kComposition = 64,  // this program's composition of maps x -> a x + b, modulo 2^32; not commutative
  kOwnSum = 128,      // ours, commutative
};

template <class T>
void store(const Element& element, void* to) {
  const T value = static_cast<T>(element.a);
  std::memcpy(to, &value, sizeof value);
}
template <class T>
void store_complex(const Element& element, void* to) {
  const std::complex<T> value(static_cast<T>(element.a), static_cast<T>(element.b));
  std::memcpy(to, &value, sizeof value);
}
template <class T>
void store_pair(const Element& element, void* to) {
  struct Pair {
    T value;
    std::int32_t location;
  } pair{static_cast<T>(element.a), static_cast<std::int32_t>(element.b)};
  static_assert(sizeof(Pair) == sizeof(T) + 4);
  std::memcpy(to, &pair, sizeof pair);
}
// Integers up to 2,048 (half) or 256 (bfloat16): exact.
template <int kMantissa, int kBias>
void store_half(const Element& element, void* to) {
  std::uint16_t bits = element.a < 0 ? 0x8000 : 0;
  auto magnitude = static_cast<std::uint32_t>(element.a < 0 ? -element.a : element.a);
  if (magnitude != 0) {
    int exponent = 31;
    while ((magnitude >> exponent) == 0) --exponent;
    const std::uint32_t fraction = magnitude - (1u << exponent);
    const std::uint32_t mantissa =
        exponent <= kMantissa ? fraction << (kMantissa - exponent) : fraction >> (exponent - kMantissa);
    bits = static_cast<std::uint16_t>(bits | static_cast<std::uint32_t>(exponent + kBias) << kMantissa | mantissa);
  }
  std::memcpy(to, &bits, sizeof bits);
}
void store_affine(const Element& element, void* to) {
  const std::uint32_t words[2] = {static_cast<std::uint32_t>(element.a), static_cast<std::uint32_t>(element.b)};
  std::memcpy(to, words, sizeof words);
}

Element sum(const Element& x, const Element& y) { return {x.a + y.a, x.b + y.b}; }
Element compose(const Element& x, const Element& y) {
  const auto a = static_cast<std::uint32_t>(x.a), b = static_cast<std::uint32_t>(x.b);
  return {a * static_cast<std::uint32_t>(y.a), a * static_cast<std::uint32_t>(y.b) + b};
}

// compose() and sum() as MPI calls them: inout = in op inout.
void compose_all(void* in, void* inout, int* length, MPI_Datatype*) {
  const auto* x = static_cast<const std::uint32_t*>(in);
  auto* y = static_cast<std::uint32_t*>(inout);
  for (int i = 0; i < *length; ++i, x += 2, y += 2) {
    y[1] = x[0] * y[1] + x[1];
    y[0] = x[0] * y[0];
  }
}
void add_all(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) static_cast<double*>(inout)[i] += static_cast<const double*>(in)[i];
}

// True if this library supports the type and its reductions: tested only in this process.
bool reduces(MPI_Datatype type, std::size_t bytes) {
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  int size = 0;
  std::uint64_t from[2] = {}, to[2] = {};
  const bool usable = MPI_Type_size(type, &size) == MPI_SUCCESS && static_cast<std::size_t>(size) == bytes &&
                      MPI_Allreduce(from, to, 1, type, MPI_SUM, MPI_COMM_SELF) == MPI_SUCCESS;
  CHECK_OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
  return usable;
}

}  // namespace

Catalogue::Catalogue() {
  CHECK_OK(MPI_Type_contiguous(2, MPI_UINT32_T, &affine_));
  CHECK_OK(MPI_Type_commit(&affine_));
  CHECK_OK(MPI_Op_create(compose_all, 0, &compose_));
  CHECK_OK(MPI_Op_create(add_all, 1, &add_));
  constexpr unsigned kWhole = kOrder | kArithmetic | kBits | kTruth;
  constexpr unsigned kReal = kOrder | kArithmetic;
  types_ = {
      {"int8", MPI_INT8_T, 1, store<std::int8_t>, kWhole},
      {"uint8", MPI_UINT8_T, 1, store<std::uint8_t>, kWhole},
      {"int16", MPI_INT16_T, 2, store<std::int16_t>, kWhole},
      {"uint16", MPI_UINT16_T, 2, store<std::uint16_t>, kWhole},
      {"int", MPI_INT, 4, store<std::int32_t>, kWhole},
      {"unsigned", MPI_UNSIGNED, 4, store<std::uint32_t>, kWhole},
      {"int64", MPI_INT64_T, 8, store<std::int64_t>, kWhole},
      {"uint64", MPI_UINT64_T, 8, store<std::uint64_t>, kWhole},
      {"char", MPI_CHAR, 1, store<char>, kWhole},
      {"signed char", MPI_SIGNED_CHAR, 1, store<signed char>, kWhole},
      {"unsigned char", MPI_UNSIGNED_CHAR, 1, store<unsigned char>, kWhole},
      {"byte", MPI_BYTE, 1, store<std::uint8_t>, kWhole},
      {"bool", MPI_C_BOOL, 1, store<bool>, kTruth},
      {"float", MPI_FLOAT, 4, store<float>, kReal},
      {"double", MPI_DOUBLE, 8, store<double>, kReal | kOwnSum},
      {"complex float", MPI_C_FLOAT_COMPLEX, 8, store_complex<float>, kComplexSum},
      {"complex double", MPI_C_DOUBLE_COMPLEX, 16, store_complex<double>, kComplexSum},
      {"two ints", MPI_2INT, 8, store_pair<std::int32_t>, kLocation},
      {"float and int", MPI_FLOAT_INT, 8, store_pair<float>, kLocation},
      {"affine", affine_, 8, store_affine, kComposition},
  };
  if (reduces(MPI_REAL2, 2)) types_.push_back({"half", MPI_REAL2, 2, store_half<10, 15>, kReal});
#ifdef MPIX_BFLOAT16
  if (reduces(MPIX_BFLOAT16, 2)) types_.push_back({"bfloat16", MPIX_BFLOAT16, 2, store_half<7, 127>, kReal});
#endif
  using E = const Element&;
  operations_ = {
      {"sum", MPI_SUM, kArithmetic | kComplexSum, Values::kSmall, sum},
      {"product", MPI_PROD, kArithmetic, Values::kFactors, [](E x, E y) { return Element{x.a * y.a, 0}; }},
      {"maximum", MPI_MAX, kOrder, Values::kSmall, [](E x, E y) { return x.a >= y.a ? x : y; }},
      {"minimum", MPI_MIN, kOrder, Values::kSmall, [](E x, E y) { return x.a <= y.a ? x : y; }},
      {"bits and", MPI_BAND, kBits, Values::kSmall, [](E x, E y) { return Element{x.a & y.a, 0}; }},
      {"bits or", MPI_BOR, kBits, Values::kSmall, [](E x, E y) { return Element{x.a | y.a, 0}; }},
      {"bits xor", MPI_BXOR, kBits, Values::kSmall, [](E x, E y) { return Element{x.a ^ y.a, 0}; }},
      {"and", MPI_LAND, kTruth, Values::kTruths, [](E x, E y) { return Element{x.a && y.a, 0}; }},
      {"or", MPI_LOR, kTruth, Values::kTruths, [](E x, E y) { return Element{x.a || y.a, 0}; }},
      {"xor", MPI_LXOR, kTruth, Values::kTruths, [](E x, E y) { return Element{(x.a != 0) != (y.a != 0), 0}; }},
      {"maximum and where", MPI_MAXLOC, kLocation, Values::kSmall,
       [](E x, E y) {
         return x.a > y.a ? x : y.a > x.a ? y : x.b < y.b ? x : y;
       }},
      {"minimum and where", MPI_MINLOC, kLocation, Values::kSmall,
       [](E x, E y) {
         return x.a < y.a ? x : y.a < x.a ? y : x.b < y.b ? x : y;
       }},
      {"composition (ours)", compose_, kComposition, Values::kSmall, compose},
      {"sum (ours)", add_, kOwnSum, Values::kSmall, sum},
  };
}

Catalogue::~Catalogue() {
  MPI_Op_free(&compose_);
  MPI_Op_free(&add_);
  MPI_Type_free(&affine_);
}

Element value_of(int call, int rank, int index, Values values) {
  std::uint32_t h = 2166136261u;
  for (const int part : {call, rank, index}) h = (h ^ static_cast<std::uint32_t>(part)) * 16777619u;
  h ^= h >> 15;
  switch (values) {
    case Values::kFactors:
      return {1 + static_cast<std::int64_t>(h >> 8) % 2, 0};
    case Values::kTruths:
      return {static_cast<std::int64_t>(h >> 8) % 2, 0};
    case Values::kSmall:
      break;
  }
  return {1 + static_cast<std::int64_t>(h >> 8) % 9, static_cast<std::int64_t>(h >> 20) % 100};
}

}  // namespace random_collectives
