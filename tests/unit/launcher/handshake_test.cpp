#include "wire/handshake.hpp"

#include <gtest/gtest.h>

#include <random>

namespace hr::launcher {
namespace {

TEST(KeyedHash, IsSipHash24) {
  // The example in the paper that defines SipHash (Aumasson and Bernstein, appendix A).
  const Nonce key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string text;
  for (char each = 0; each < 15; ++each) text += each;
  EXPECT_EQ(keyed_hash(key, text), 0xa129ca6149be45e5u);
}

TEST(Handshake, IsReadAsItWasWritten) {
  const Nonce nonce = make_nonce();
  EXPECT_NE(nonce, make_nonce());
  std::string line = handshake_line(nonce);
  line.pop_back();
  EXPECT_EQ(read_handshake(line), nonce);
  EXPECT_EQ(read_handshake(line + "\r"), nonce);
  EXPECT_FALSE(read_handshake(line + "0"));
  EXPECT_FALSE(read_handshake(line.substr(1)));
  line[20] = 'g';
  EXPECT_FALSE(read_handshake(line));
  EXPECT_FALSE(read_handshake(""));
}

TEST(Proof, IsFoundBehindNoiseHoweverItIsCut) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const Nonce nonce = make_nonce();
    const std::string text = "Last login: today\n" + handshake_line(nonce) + proof_line(make_nonce(), "1.0") +
                             "headrace-agent x\n" + std::string(9000, 'z') + proof_line(nonce, "1.2.3") + "rest\nmore";
    ProofSearch search(nonce);
    std::string rest;
    bool found = false;
    for (std::size_t at = 0; at < text.size() && !found;) {
      const std::size_t piece = 1 + random() % 700;
      found = search.add(std::string_view(text).substr(at, piece), &rest);
      at += piece;
      if (found) rest += text.substr(std::min(at, text.size()));
    }
    ASSERT_TRUE(found);
    EXPECT_EQ(rest, "rest\nmore");
    EXPECT_EQ(search.version(), "1.2.3");
  }
}

TEST(Proof, CannotBeMadeByRepeating) {
  const Nonce nonce = make_nonce();
  ProofSearch search(nonce);
  std::string rest;
  EXPECT_FALSE(search.add(handshake_line(nonce), &rest));
  EXPECT_FALSE(search.add("headrace-agent " + handshake_line(nonce).substr(17, 16) + "\n", &rest));
  EXPECT_FALSE(search.add("headrace-agent 1.0 " + handshake_line(nonce).substr(17, 16) + "\n", &rest));
  EXPECT_FALSE(search.add("headrace-agent 1.0 0000000000000000\n", &rest));
  EXPECT_EQ(search.last_line(), "headrace-agent 1.0 0000000000000000");
}

TEST(Proof, IsNotLookedForForEver) {
  ProofSearch search(make_nonce());
  std::string rest;
  for (int line = 0; line < 30000 && !search.gave_up(); ++line) search.add(std::string(99, 'n') + "\n", &rest);
  EXPECT_TRUE(search.gave_up());
}

}  // namespace
}  // namespace hr::launcher
