#include "layout.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "../common/check.hpp"

namespace random_exchange {
namespace {

std::ptrdiff_t align(std::ptrdiff_t value, std::size_t alignment) {
  const auto a = static_cast<std::ptrdiff_t>(alignment);
  return (value + a - 1) / a * a;
}

}  // namespace

Layout::Layout(const Exchange& exchange, Generator& random, bool extra)
    : a_(exchange.a), b_(exchange.b), c_(exchange.c) {
  make_unit(exchange, random);
  const bool empty = exchange.units() == 0;
  switch (empty ? 0 : draw(random, 0, 6)) {
    case 0:
    case 1:
      contiguous(random, extra);
      break;
    case 2:
      vector(random);
      break;
    case 3:
      nested(random);
      break;
    case 4:
      backwards(random);
      break;
    case 5:
      subarray(random);
      break;
    default:
      indexed(random);
      break;
  }
  finish();
}

// Arranges the unit's basic types at offsets and in an order that only this side uses, perhaps with gaps and a padded
// extent.
void Layout::make_unit(const Exchange& exchange, Generator& random) {
  const std::size_t members = exchange.unit.size();
  std::vector<std::size_t> order(members);
  std::iota(order.begin(), order.end(), 0);
  std::size_t alignment = 1;
  for (const Basic& basic : exchange.unit) alignment = std::max(alignment, basic.bytes);
  for (std::size_t i = members; i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(draw(random, 0, static_cast<int>(i) - 1))]);
  }
  std::vector<MPI_Aint> places(members);
  std::ptrdiff_t at = 0;
  const bool gaps = chance(random, 50);
  for (const std::size_t member : order) {
    const std::size_t bytes = exchange.unit[member].bytes;
    at = align(at, bytes);
    if (gaps && members > 1) at += static_cast<std::ptrdiff_t>(bytes) * draw(random, 0, 2);
    places[member] = at;
    at += static_cast<std::ptrdiff_t>(bytes);
  }
  extent_ = align(at, alignment);
  if (chance(random, 20)) extent_ += static_cast<std::ptrdiff_t>(alignment) * draw(random, 1, 3);
  for (std::size_t i = 0; i < members; ++i) unit_.push_back({places[i], exchange.unit[i].bytes});
  if (members == 1 && extent_ == static_cast<std::ptrdiff_t>(exchange.unit[0].bytes)) {
    CHECK_OK(MPI_Type_dup(exchange.unit[0].type, &unit_type_));
    return;
  }
  std::vector<MPI_Datatype> types;
  for (const Basic& basic : exchange.unit) types.push_back(basic.type);
  const std::vector<int> ones(members, 1);
  MPI_Datatype whole;
  CHECK_OK(MPI_Type_create_struct(static_cast<int>(members), ones.data(), places.data(), types.data(), &whole));
  CHECK_OK(MPI_Type_create_resized(whole, 0, extent_, &unit_type_));
  CHECK_OK(MPI_Type_free(&whole));
}

void Layout::contiguous(Generator& random, bool extra) {
  const std::size_t units = static_cast<std::size_t>(a_) * static_cast<std::size_t>(b_) * static_cast<std::size_t>(c_);
  const int room = static_cast<int>(units) + (extra && chance(random, 40) ? draw(random, 1, 50) : 0);
  if (chance(random, 50)) {
    name_ = "count";
    CHECK_OK(MPI_Type_dup(unit_type_, &type_));
    count_ = room;
  } else {
    name_ = "contiguous";
    CHECK_OK(MPI_Type_contiguous(room, unit_type_, &type_));
  }
  runs_.push_back({0, units});
  high_ = room * extent_;
}

// Creates a * b blocks of c units with a fixed stride.
void Layout::vector(Generator& random) {
  name_ = "vector";
  const int stride = c_ + draw(random, 0, c_ < 5 ? 10 : 3);
  CHECK_OK(MPI_Type_vector(a_ * b_, c_, stride, unit_type_, &type_));
  for (int block = 0; block < a_ * b_; ++block) {
    runs_.push_back({block * stride * extent_, static_cast<std::size_t>(c_)});
  }
}

// Creates `a` copies of (b blocks of c), as a count of a resized type or as a vector of it: interleaved columns.
void Layout::nested(Generator& random) {
  name_ = "nested vectors";
  const bool interleaved = chance(random, 50);
  // If interleaved, the next vector starts right after the first block of the previous one.
  const int stride = interleaved ? a_ * c_ + draw(random, 0, 3) : c_ + draw(random, 0, 3);
  const std::ptrdiff_t step =
      (interleaved ? c_ : static_cast<std::ptrdiff_t>(b_) * stride + draw(random, 0, 5)) * extent_;
  MPI_Datatype inner;
  CHECK_OK(MPI_Type_vector(b_, c_, stride, unit_type_, &inner));
  if (chance(random, 50)) {
    CHECK_OK(MPI_Type_create_resized(inner, 0, step, &type_));
    count_ = a_;
  } else {
    CHECK_OK(MPI_Type_create_hvector(a_, 1, step, inner, &type_));
  }
  CHECK_OK(MPI_Type_free(&inner));
  for (int i = 0; i < a_; ++i) {
    for (int j = 0; j < b_; ++j) runs_.push_back({i * step + j * stride * extent_, static_cast<std::size_t>(c_)});
  }
}

// Uses a negative stride: the first block has the highest address.
void Layout::backwards(Generator& random) {
  name_ = "negative hvector";
  const std::ptrdiff_t stride = -(static_cast<std::ptrdiff_t>(b_) * c_ + draw(random, 0, 4)) * extent_;
  CHECK_OK(MPI_Type_create_hvector(a_, b_ * c_, stride, unit_type_, &type_));
  for (int i = 0; i < a_; ++i) {
    runs_.push_back({i * stride, static_cast<std::size_t>(b_) * static_cast<std::size_t>(c_)});
  }
}

void Layout::subarray(Generator& random) {
  const int subsizes[3] = {a_, b_, c_};
  int sizes[3], starts[3];
  for (int d = 0; d < 3; ++d) {
    starts[d] = draw(random, 0, 2);
    sizes[d] = starts[d] + subsizes[d] + draw(random, 0, 2);
  }
  const bool fortran = chance(random, 50);
  name_ = fortran ? "subarray (Fortran)" : "subarray (C)";
  if (fortran) {
    const int reversed[3][3] = {
        {sizes[2], sizes[1], sizes[0]}, {subsizes[2], subsizes[1], subsizes[0]}, {starts[2], starts[1], starts[0]}};
    CHECK_OK(MPI_Type_create_subarray(3, reversed[0], reversed[1], reversed[2], MPI_ORDER_FORTRAN, unit_type_, &type_));
  } else {
    CHECK_OK(MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, unit_type_, &type_));
  }
  for (std::ptrdiff_t i = starts[0]; i < starts[0] + a_; ++i) {
    for (std::ptrdiff_t j = starts[1]; j < starts[1] + b_; ++j) {
      runs_.push_back({((i * sizes[1] + j) * sizes[2] + starts[2]) * extent_, static_cast<std::size_t>(c_)});
    }
  }
  high_ = static_cast<std::ptrdiff_t>(sizes[0]) * sizes[1] * sizes[2] * extent_;
}

// Creates a * b shuffled blocks of c units (or of lengths with the same sum), with gaps.
void Layout::indexed(Generator& random) {
  if (a_ * b_ > 20000) return subarray(random);
  const std::size_t blocks = static_cast<std::size_t>(a_) * static_cast<std::size_t>(b_);
  std::vector<int> lengths(blocks, c_);
  const bool equal = chance(random, 40);
  if (!equal) {
    for (std::size_t i = 0; i + 1 < blocks; i += 2) {  // moves some units from one block to its neighbour
      const int moved = draw(random, 0, c_);
      lengths[i] -= moved;
      lengths[i + 1] += moved;
    }
  }
  std::vector<std::size_t> order(blocks);
  std::iota(order.begin(), order.end(), 0);
  if (chance(random, 60)) {
    for (std::size_t i = blocks; i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(draw(random, 0, static_cast<int>(i) - 1))]);
    }
  }
  std::vector<int> places(blocks);
  int at = draw(random, -3, 3);
  for (const std::size_t block : order) {
    places[block] = at;
    at += lengths[block] + draw(random, 0, 2);
  }
  const int count = static_cast<int>(blocks);
  if (equal) {
    name_ = "indexed block";
    CHECK_OK(MPI_Type_create_indexed_block(count, c_, places.data(), unit_type_, &type_));
  } else if (chance(random, 50)) {
    name_ = "indexed";
    CHECK_OK(MPI_Type_indexed(count, lengths.data(), places.data(), unit_type_, &type_));
  } else {
    name_ = "hindexed";
    std::vector<MPI_Aint> bytes(blocks);
    for (std::size_t i = 0; i < blocks; ++i) bytes[i] = places[i] * extent_;
    CHECK_OK(MPI_Type_create_hindexed(count, lengths.data(), bytes.data(), unit_type_, &type_));
  }
  for (std::size_t i = 0; i < blocks; ++i) {
    runs_.push_back({places[i] * extent_, static_cast<std::size_t>(lengths[i])});
  }
}

void Layout::finish() {
  for (const Run& run : runs_) {
    low_ = std::min(low_, run.offset);
    high_ = std::max(high_, run.offset + static_cast<std::ptrdiff_t>(run.units) * extent_);
  }
  low_ = -align(-low_, 16);  // keeps the alignment of the origin
  CHECK_OK(MPI_Type_free(&unit_type_));
  CHECK_OK(MPI_Type_commit(&type_));
}

void Layout::place(const std::vector<unsigned char>& message, std::vector<unsigned char>& buffer) const {
  const unsigned char* from = message.data();
  for (const Run& run : runs_) {
    unsigned char* unit = buffer.data() + origin() + run.offset;
    for (std::size_t u = 0; u < run.units; ++u, unit += extent_) {
      for (const Placed& basic : unit_) {
        std::memcpy(unit + basic.offset, from, basic.bytes);
        from += basic.bytes;
      }
    }
  }
}

}  // namespace random_exchange
