#include "wire/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace hr::launcher {
namespace {

TEST(Frame, ArrivesWholeHoweverItIsCut) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> sent(1 + random() % 8);
    std::string bytes;
    for (std::string& each : sent) {
      each.assign(random() % (round % 10 == 0 ? 100000 : 40), '?');
      for (char& letter : each) letter = static_cast<char>(random());
      append_frame(&bytes, each);
    }
    FrameDecoder decoder;
    std::vector<std::string> got;
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t piece = std::min<std::size_t>(1 + random() % (round % 2 == 0 ? 3 : 5000), bytes.size() - at);
      decoder.add(std::string_view(bytes).substr(at, piece));
      at += piece;
      for (std::string payload = "poison"; decoder.next(&payload);) got.push_back(payload);
    }
    ASSERT_EQ(got, sent);
    EXPECT_FALSE(decoder.broken());
  }
}

TEST(Frame, OfASizeThatNoneHasEndsTheDecoder) {
  FrameDecoder decoder;
  const std::size_t size = kLargestFrame + 1;
  std::string bytes;
  for (std::size_t at = 0; at < kFrameHeader; ++at) bytes += static_cast<char>(size >> (8 * at) & 0xff);
  decoder.add(bytes);
  std::string payload;
  EXPECT_FALSE(decoder.next(&payload));
  EXPECT_TRUE(decoder.broken());
  std::string good;
  append_frame(&good, "x");
  decoder.add(good);
  EXPECT_FALSE(decoder.next(&payload));
}

TEST(Frame, OfTheLargestSizeIsTaken) {
  FrameDecoder decoder;
  std::string bytes;
  append_frame(&bytes, std::string(kLargestFrame, 'x'));
  decoder.add(bytes);
  std::string payload;
  ASSERT_TRUE(decoder.next(&payload));
  EXPECT_EQ(payload.size(), kLargestFrame);
}

TEST(Frame, RandomBytesAreEitherFramesOrAnError) {
  std::mt19937 random(2);
  for (int round = 0; round < 500; ++round) {
    FrameDecoder decoder;
    std::size_t given = 0;
    std::size_t got = 0;
    for (int piece = 0; piece < 50; ++piece) {
      std::string bytes(random() % 200, '\0');
      // Mostly small numbers, so that sizes are often valid frame sizes.
      for (char& each : bytes) each = static_cast<char>(random() % 4 == 0 ? random() : random() % 2);
      given += bytes.size();
      decoder.add(bytes);
      for (std::string payload; decoder.next(&payload);) got += kFrameHeader + payload.size();
    }
    ASSERT_LE(got, given);
  }
}

}  // namespace
}  // namespace hr::launcher
