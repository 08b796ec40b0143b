// Matching compared with a simple reference, two lists that are searched in order. Posts and arrivals are random, with
// wildcards, and far exceed the number at which bins are used.
#include "p2p/match/matching.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>

namespace hr::p2p {
namespace {

bool accepts(const Envelope& wanted, const Envelope& message) {
  return (wanted.source == abi::kAnySource || wanted.source == message.source) &&
         (wanted.tag == abi::kAnyTag || wanted.tag == message.tag);
}

struct Reference {
  std::deque<std::pair<Request*, Envelope>> posted;
  std::deque<Unexpected*> unexpected;

  Request* match(const Envelope& message) {
    for (auto at = posted.begin(); at != posted.end(); ++at) {
      if (!accepts(at->second, message)) continue;
      Request* found = at->first;
      posted.erase(at);
      return found;
    }
    return nullptr;
  }
  Unexpected* find(const Envelope& wanted) {
    for (Unexpected* message : unexpected) {
      if (accepts(wanted, message->envelope)) return message;
    }
    return nullptr;
  }
};

void run(unsigned seed, int sources, int tags, double wildcard_share, double post_share, int steps) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::bernoulli_distribution posts(post_share);
  std::bernoulli_distribution wildcard(wildcard_share);
  const counters::Value posted_before = counters::page.posted.now;
  Matcher matcher;
  Reference reference;
  std::deque<Request> requests;
  for (int step = 0; step < steps; ++step) {
    Envelope envelope{0, static_cast<int>(random() % static_cast<unsigned>(sources)),
                      static_cast<int>(random() % static_cast<unsigned>(tags))};
    if (posts(random)) {
      if (wildcard(random)) envelope.source = abi::kAnySource;
      if (wildcard(random)) envelope.tag = abi::kAnyTag;
      Unexpected* expected = reference.find(envelope);
      Unexpected* found = matcher.find(envelope);
      ASSERT_EQ(found, expected) << "step " << step;
      if (found != nullptr) {
        matcher.take(*found);
        std::erase(reference.unexpected, found);
        Unexpected::destroy(found);
        continue;
      }
      Request& request = requests.emplace_back();
      request.source_ = envelope.source;
      request.tag_ = envelope.tag;
      matcher.post(request);
      reference.posted.emplace_back(&request, envelope);
    } else {
      Request* expected = reference.match(envelope);
      Request* found = matcher.match_posted(envelope);
      ASSERT_EQ(found, expected) << "step " << step;
      if (found != nullptr) continue;
      Unexpected* message = Unexpected::create(step % 200);
      message->envelope = envelope;
      matcher.keep(message);
      reference.unexpected.push_back(message);
    }
    if (step % 97 == 0 && !reference.posted.empty()) {
      Request* withdrawn = reference.posted.back().first;
      reference.posted.pop_back();
      matcher.withdraw(*withdrawn);
    }
    ASSERT_EQ(counters::page.posted.now - posted_before, reference.posted.size());
    ASSERT_EQ(matcher.unexpected_count(), reference.unexpected.size());
  }
  for (auto& [request, envelope] : reference.posted) matcher.withdraw(*request);
}

TEST(Matching, FewOfEach) { run(std::random_device{}(), 3, 3, 0.3, 0.5, 20000); }
TEST(Matching, ManyPosted) { run(std::random_device{}(), 20, 50, 0.1, 0.7, 5000); }
TEST(Matching, ManyUnexpected) { run(std::random_device{}(), 20, 50, 0.1, 0.3, 5000); }
TEST(Matching, OnlyWildcards) { run(std::random_device{}(), 5, 5, 1.0, 0.5, 5000); }

TEST(Matching, AHundredThousandWithDistinctTagsStayFast) {
  // With linear searches alone, this takes minutes, beyond the test's time limit.
  constexpr int kMessages = 100000;
  Matcher matcher;
  for (int i = 0; i < kMessages; ++i) {
    Unexpected* message = Unexpected::create(0);
    message->envelope = {0, 0, i};
    matcher.keep(message);
  }
  for (int i = kMessages - 1; i >= 0; --i) {
    Unexpected* found = matcher.find({0, 0, i});
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(found->envelope.tag, i);
    matcher.take(*found);
    Unexpected::destroy(found);
  }
  EXPECT_EQ(matcher.unexpected_count(), 0U);
}

}  // namespace
}  // namespace hr::p2p
