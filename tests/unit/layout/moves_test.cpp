// Every loop of every set of moves that this machine can run, compared with one memcpy per segment. All memory is
// between inaccessible pages, adjacent to one of them, and every byte of the target is compared, also in the gaps.
#include "layout/host/moves.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "layout/host/window.hpp"
#include "random_type.hpp"

namespace hr::layout::host {
namespace {

std::size_t page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

// `bytes` of random content with an inaccessible page directly after them or, with `at_start`, before them.
class Fenced {
 public:
  Fenced(std::size_t bytes, bool at_start, std::uint64_t seed) : bytes_(bytes) {
    const std::size_t pages = (bytes + page() - 1) / page() * page();
    mapped_ = pages + 2 * page();
    map_ = static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(map_, MAP_FAILED);
    EXPECT_EQ(mprotect(map_ + page(), pages, PROT_READ | PROT_WRITE), 0);
    data_ = map_ + page() + (at_start ? 0 : pages - bytes);
    std::mt19937_64 random(seed);
    std::generate_n(data_, bytes, [&] { return static_cast<std::byte>(random()); });
  }
  ~Fenced() { munmap(map_, mapped_); }
  Fenced(const Fenced&) = delete;
  Fenced& operator=(const Fenced&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::vector<std::byte> content() const { return {data_, data_ + bytes_}; }

 private:
  std::size_t bytes_, mapped_ = 0;
  std::byte* map_ = nullptr;
  std::byte* data_ = nullptr;
};

class MovesTest : public testing::Test {
 protected:
  Count number(Count low, Count high) { return std::uniform_int_distribution<Count>(low, high)(random_); }
  bool one_in(Count n) { return number(1, n) == 1; }

  std::uint64_t seed_ = test::test_seed();
  std::mt19937_64 random_{seed_};
};

// One side of a plane: strides with which no two segments overlap, and the first segment's position in memory.
struct Side {
  Count stride1, stride0, origin, span;
};

Side side_of(Count length, Count n1, Count n0, Count stride0, Count stride1) {
  const Count reach0 = (n0 - 1) * stride0, reach1 = (n1 - 1) * stride1;
  const Count low = std::min<Count>(reach0, 0) + std::min<Count>(reach1, 0);
  const Count high = std::max<Count>(reach0, 0) + std::max<Count>(reach1, 0);
  return {stride1, stride0, -low, high - low + length};
}

void expect_plane(const Moves& moves, Count length, Count n1, Count n0, const Side& to, const Side& from,
                  bool at_start) {
  SCOPED_TRACE(std::string(moves.name) + ": " + std::to_string(n1) + " x " + std::to_string(n0) + " runs of " +
               std::to_string(length) + ", to " + std::to_string(to.stride1) + "," + std::to_string(to.stride0) +
               ", from " + std::to_string(from.stride1) + "," + std::to_string(from.stride0));
  const Fenced source(static_cast<std::size_t>(from.span), at_start, 1);
  const Fenced target(static_cast<std::size_t>(to.span), at_start, 2);
  std::vector<std::byte> wanted = target.content();
  for (Count i = 0; i < n1; ++i) {
    for (Count j = 0; j < n0; ++j) {
      std::memcpy(wanted.data() + to.origin + i * to.stride1 + j * to.stride0,
                  source.data() + from.origin + i * from.stride1 + j * from.stride0, static_cast<std::size_t>(length));
    }
  }
  moves.of(length).plane(static_cast<std::size_t>(length), target.data() + to.origin, source.data() + from.origin,
                         {n1, n0, to.stride1, to.stride0, from.stride1, from.stride0});
  ASSERT_TRUE(target.content() == wanted);
}

std::vector<Count> lengths() {
  std::vector<Count> all(140);
  std::iota(all.begin(), all.end(), 1);
  for (const Count more : {150, 160, 192, 200, 255, 256, 257, 300, 511, 512, 513, 600, 1000}) all.push_back(more);
  return all;
}

TEST_F(MovesTest, PlanesOfEveryLength) {
  const auto any_side = [&](Count length, Count n1, Count n0) {
    const Count gap = one_in(3) ? 0 : number(0, 3) == 0 ? number(1, 400) : number(1, 40);
    Count stride0 = length + gap;
    Count stride1 = n0 * stride0 + number(0, 70);
    if (one_in(4)) {  // transposed
      stride1 = length + gap;
      stride0 = n1 * stride1 + number(0, 300);
    }
    return side_of(length, n1, n0, one_in(4) ? -stride0 : stride0, one_in(4) ? -stride1 : stride1);
  };
  for (const Moves* const moves : all_moves()) {
    for (const Count length : lengths()) {
      for (int i = 0; i < 12; ++i) {
        const Count n1 = one_in(2) ? 1 : number(1, 9);
        const Count n0 = one_in(6) ? number(10, 150) : number(1, 9);
        const Side to = any_side(length, n1, n0), from = any_side(length, n1, n0);
        expect_plane(*moves, length, n1, n0, to, from, one_in(2));
        if (HasFailure()) return;
      }
    }
  }
}

// One side is dense, the other has gaps of every length up to four segments.
TEST_F(MovesTest, ShortRunsWithShortGaps) {
  for (const Moves* const moves : all_moves()) {
    for (const Count length : {1, 2, 4, 8, 12, 16, 32}) {
      for (Count stride = length + 1; stride <= 5 * length; ++stride) {
        for (int i = 0; i < 6; ++i) {
          const Count n1 = one_in(2) ? 1 : number(1, 3);
          const Count n0 = one_in(3) ? 128 / length * number(1, 4) : number(1, 400 / length + 2);
          const Side dense = side_of(length, n1, n0, length, n0 * length);
          const Side gapped = side_of(length, n1, n0, stride, n0 * stride + number(0, 20));
          const bool at_start = one_in(3);
          expect_plane(*moves, length, n1, n0, dense, gapped, at_start);
          expect_plane(*moves, length, n1, n0, gapped, dense, at_start);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// Rows longer than a cache line at every offset within a line, with strides that preserve the offset and others that do
// not.
TEST_F(MovesTest, LongerRunsAnywhereInALine) {
  for (const Moves* const moves : all_moves()) {
    for (const Count length : {128, 129, 150, 192, 256, 300, 511, 512, 513, 700, 767, 768, 769}) {
      for (int i = 0; i < 24; ++i) {
        const Count n1 = number(1, 3), n0 = number(1, 2 * (5000 / length)), to_line = one_in(2) ? 1 : 16;
        const Count stride0 = one_in(2) ? (length / 64 + 1) * 64 : length + to_line * number(0, 5);
        const Count stride1 = one_in(2) ? n0 * ((stride0 + 63) / 64 * 64) : n0 * stride0 + to_line * number(0, 5);
        Side to = side_of(length, n1, n0, stride0, stride1);
        to.span += to_line * number(0, 64 / to_line);  // so that the memory starts anywhere in a line
        const Side from = side_of(length, n1, n0, length + number(0, 70), n0 * (length + 70));
        expect_plane(*moves, length, n1, n0, to, from, false);
        expect_plane(*moves, length, n1, n0, side_of(length, n1, n0, length, n0 * length), from, one_in(2));
        if (HasFailure()) return;
      }
    }
  }
}

// There are enough blocks that vectors are aligned to cache lines, and lines are prefetched.
TEST_F(MovesTest, ManyShortRunsWithShortGaps) {
  for (const Moves* const moves : all_moves()) {
    for (const Count length : {4, 8, 16}) {
      for (const Count stride : {length + 4, length + 8, 2 * length, 3 * length, 4 * length}) {
        for (const Count bytes : {Count{5} << 10, Count{40} << 10, Count{1} << 20}) {
          const Count n0 = bytes / length + number(1, 70);
          const Side dense = side_of(length, 1, n0, length, 0), gapped = side_of(length, 1, n0, stride, 0);
          const bool at_start = one_in(3);
          expect_plane(*moves, length, 1, n0, dense, gapped, at_start);
          expect_plane(*moves, length, 1, n0, gapped, dense, at_start);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// The same, with each segment in a separate cache line.
TEST_F(MovesTest, RunsInLinesOfTheirOwnFarApart) {
  for (const Moves* const moves : all_moves()) {
    for (const Count length : {1, 2, 3, 4, 8, 12, 24, 40, 63, 64, 128}) {
      const Count n1 = number(1, 3), n0 = (Count{1} << 14) / n1 + number(1, 20);
      const Count stride = length + number(64, 80);
      const Side dense = side_of(length, n1, n0, length, n0 * length);
      const Side gapped = side_of(length, n1, n0, one_in(3) ? -stride : stride, n0 * stride + number(0, 70));
      const bool at_start = one_in(2);
      expect_plane(*moves, length, n1, n0, gapped, dense, at_start);
      expect_plane(*moves, length, n1, n0, dense, gapped, at_start);
      expect_plane(*moves, length, n1, n0, gapped, gapped, at_start);
      if (HasFailure()) return;
    }
  }
}

// Checks a list of half of the positions at multiples of `pitch` around the origin, in both directions.
void expect_list(const Moves& moves, Count length, std::size_t n, Count pitch, bool shuffled, bool at_start,
                 std::mt19937_64& random) {
  SCOPED_TRACE(std::string(moves.name) + ", " + std::to_string(n) + " runs of " + std::to_string(length));
  std::vector<std::int32_t> offsets(2 * n);
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = static_cast<std::int32_t>((static_cast<Count>(i) - static_cast<Count>(n)) * pitch);
  }
  if (shuffled) std::shuffle(offsets.begin(), offsets.end(), random);
  offsets.resize(n);
  const auto [low, high] = std::minmax_element(offsets.begin(), offsets.end());
  const Fenced typed(static_cast<std::size_t>(*high - *low + length), at_start, 1);
  const Fenced packed(n * static_cast<std::size_t>(length), !at_start, 2);
  std::byte* const origin = typed.data() - *low;
  const auto bytes = static_cast<std::size_t>(length);
  std::vector<std::byte> wanted_typed = typed.content();
  for (std::size_t i = 0; i < n; ++i) {
    std::memcpy(wanted_typed.data() + (offsets[i] - *low), packed.data() + i * bytes, bytes);
  }
  const std::vector<std::byte> wanted_packed = packed.content();
  moves.of(length).unpack_list(bytes, origin, packed.data(), offsets.data(), n);
  ASSERT_TRUE(typed.content() == wanted_typed);
  std::memset(packed.data(), 0, n * bytes);
  moves.of(length).pack_list(bytes, packed.data(), origin, offsets.data(), n);
  ASSERT_TRUE(packed.content() == wanted_packed);
}

TEST_F(MovesTest, ListsOfEveryLength) {
  for (const Moves* const moves : all_moves()) {
    for (const Count length : lengths()) {
      for (int round = 0; round < 6; ++round) {
        const auto n = static_cast<std::size_t>(number(1, 40));
        expect_list(*moves, length, n, length + number(0, 5), !one_in(4), one_in(2), random_);
        if (HasFailure()) return;
      }
    }
  }
}

// Lists are long enough for lines to be prefetched: some exceed the first-level cache, and some the second.
TEST_F(MovesTest, LongLists) {
  for (const Moves* const moves : all_moves()) {
    for (const Count length : {1, 2, 3, 4, 7, 8, 12, 16, 20, 24, 40, 50, 64, 128, 200, 320, 600}) {
      for (const Count bytes : {Count{32} << 10, Count{1} << 20}) {
        const auto n = static_cast<std::size_t>(bytes / length + number(1, 70));
        expect_list(*moves, length, n, length + number(0, 5), !one_in(4), one_in(2), random_);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(MovesTest, BlocksOfMixedLengths) {
  for (const Moves* const moves : all_moves()) {
    SCOPED_TRACE(moves->name);
    for (int round = 0; round < 500; ++round) {
      std::vector<Block> blocks;
      Count end = 0, bytes = 0;
      const Count longest = one_in(2) ? 20 : 300;
      for (Count i = number(1, 30); i > 0; --i) {
        blocks.push_back({end, number(1, longest)});
        bytes += blocks.back().length;
        end += blocks.back().length + number(0, 9);
      }
      end = blocks.back().offset + blocks.back().length;
      std::shuffle(blocks.begin(), blocks.end(), random_);
      const Fenced typed(static_cast<std::size_t>(end), one_in(2), 1);
      const Fenced packed(static_cast<std::size_t>(bytes), one_in(2), 2);
      std::vector<std::byte> wanted_typed = typed.content();
      Count at = 0;
      for (const Block& block : blocks) {
        std::memcpy(wanted_typed.data() + block.offset, packed.data() + at, static_cast<std::size_t>(block.length));
        at += block.length;
      }
      const std::vector<std::byte> wanted_packed = packed.content();
      moves->unpack_blocks(typed.data(), packed.data(), blocks.data(), blocks.size());
      ASSERT_TRUE(typed.content() == wanted_typed);
      std::memset(packed.data(), 0, static_cast<std::size_t>(bytes));
      moves->pack_blocks(packed.data(), typed.data(), blocks.data(), blocks.size());
      ASSERT_TRUE(packed.content() == wanted_packed);
    }
  }
}

TEST_F(MovesTest, PatternsInAWindow) {
  int several = 0;
  for (int round = 0; round < 3000; ++round) {
    // Blocks are in any order, and the window starts at any byte.
    std::vector<Block> blocks;
    const Count room = one_in(2) ? number(1, 20) : number(1, 64);
    for (Count at = number(0, 2); at < room;) {
      blocks.push_back({at, number(1, std::min<Count>(room - at, one_in(2) ? 3 : 64))});
      at += blocks.back().length + number(0, 5);
    }
    if (blocks.empty()) continue;
    const Count lowest = blocks.front().offset, end = blocks.back().offset + blocks.back().length;
    const Count shift = number(-50, 50);
    for (Block& block : blocks) block.offset += shift;
    std::shuffle(blocks.begin(), blocks.end(), random_);
    const Count stride = (end - lowest + (one_in(3) ? 0 : number(0, 40))) * (one_in(4) ? -1 : 1);
    Window window;
    ASSERT_TRUE(make_window(blocks, stride, &window));
    several += window.patterns > 1 ? 1 : 0;
    const Count n = number(1, 30), pattern = window.pattern;
    const Side side = side_of(end - lowest, 1, n, stride, 0);
    for (const Moves* const moves : all_moves()) {
      if (moves->pack_windows == nullptr) continue;
      SCOPED_TRACE(std::to_string(round) + ": " + std::to_string(n) + " patterns, stride " + std::to_string(stride));
      const Fenced typed(static_cast<std::size_t>(side.span), one_in(2), 1);
      const Fenced packed(static_cast<std::size_t>(n * pattern), one_in(2), 2);
      const Count first = side.origin - lowest - shift;  // offset of the first pattern's origin
      std::vector<std::byte> wanted_typed = typed.content();
      Count at = 0;
      for (Count i = 0; i < n; ++i) {
        for (const Block& block : blocks) {
          std::memcpy(wanted_typed.data() + first + i * stride + block.offset, packed.data() + at,
                      static_cast<std::size_t>(block.length));
          at += block.length;
        }
      }
      const std::vector<std::byte> wanted_packed = packed.content();
      moves->unpack_windows(typed.data() + first, packed.data(), n, window);
      ASSERT_TRUE(typed.content() == wanted_typed);
      std::memset(packed.data(), 0, static_cast<std::size_t>(n * pattern));
      moves->pack_windows(packed.data(), typed.data() + first, n, window);
      ASSERT_TRUE(packed.content() == wanted_packed);
    }
  }
  EXPECT_GT(several, 100);
}

TEST(Window, WhatDoesNotFit) {
  Window window;
  const Block far[] = {{0, 4}, {61, 4}}, twice[] = {{0, 4}, {3, 4}}, long_one[] = {{0, 65}};
  EXPECT_FALSE(make_window(far, 100, &window));
  EXPECT_FALSE(make_window(twice, 100, &window));
  EXPECT_FALSE(make_window(long_one, 100, &window));
  EXPECT_FALSE(make_window({}, 100, &window));
  const Block fits[] = {{60, 4}, {0, 4}};
  EXPECT_TRUE(make_window(fits, 64, &window));
  EXPECT_EQ(window.patterns, 1);
}

}  // namespace
}  // namespace hr::layout::host
