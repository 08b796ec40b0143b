// Lines assembled from pieces: each is returned once, truncated at the limit, in time linear in the number of bytes.
#include "system/line_reader.hpp"

#include <gtest/gtest.h>

#include <ctime>
#include <vector>

namespace hr::launcher {
namespace {

std::vector<std::string> lines_of(LineReader& reader, std::string_view text, std::size_t piece) {
  std::vector<std::string> lines;
  for (; !text.empty(); text.remove_prefix(std::min(piece, text.size()))) {
    reader.add(text.substr(0, piece), [&](std::string_view line) { lines.emplace_back(line); });
  }
  return lines;
}

TEST(LineReader, HandsOutEachLineOnceHoweverItArrives) {
  for (const std::size_t piece : {1, 2, 3, 7, 100}) {
    LineReader reader(8);
    EXPECT_EQ(lines_of(reader, "one\n\nsecond\n123456789\n12345678\nbeg", piece),
              (std::vector<std::string>{"one", "", "second", "12345678", "12345678"}))
        << piece;
    EXPECT_EQ(lines_of(reader, "un\n", piece), std::vector<std::string>{"begun"});
  }
}

TEST(LineReader, TakesTimeForBytesAndNotForTheirSquare) {
  LineReader reader(std::size_t{4} << 20);
  const std::string piece(4096, 'x');
  const std::clock_t begin = std::clock();
  std::size_t lines = 0;
  const auto count = [&](std::string_view) { ++lines; };
  for (int at = 0; at < (64 << 20) / 4096; ++at) reader.add(piece, count);
  reader.add("\n", count);
  EXPECT_EQ(lines, 1u);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 2);
}

}  // namespace
}  // namespace hr::launcher
