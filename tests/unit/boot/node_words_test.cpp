#include "boot/node_words.hpp"

#include <gtest/gtest.h>

namespace hr::boot {
namespace {

// The key-value space of a job, as one process sees it.
class Launcher final : public Provider {
 public:
  Status connect(Identity*) override { return kOk; }
  Status put(std::string_view key, std::string_view value) override {
    space_.insert_or_assign(std::string(key), std::string(value));
    return kOk;
  }
  Status get(std::string_view key, std::string* value) override {
    ++questions;
    const auto found = space_.find(key);
    if (found == space_.end()) return fail(Errc::kOther, "there is no such key");
    *value = found->second;
    return kOk;
  }
  Status fence() override { return kOk; }
  Status begin_fence() override { return kOk; }
  Status fence_done(bool* done) override {
    *done = true;
    return kOk;
  }
  Status finalize() override { return kOk; }
  void abort(int) noexcept override {}

  int questions = 0;

 private:
  Words space_;
};

std::string heard(NodeWords& words, Launcher& launcher, std::string_view key) {
  std::string value = "unheard";
  EXPECT_TRUE(words.told(launcher, key, &value).ok()) << take_detail();
  return value;
}

TEST(NodeWords, AllOfThemForOneQuestion) {
  Launcher launcher;
  NodeWords first(3, true);
  first.tell("path", "/dev/shm/file/of/7/3/words");
  first.tell("rows", "0");
  first.tell("rows", "12");
  first.tell("nothing", "");
  ASSERT_TRUE(first.publish(launcher).ok());
  first.tell("rows", "too late");

  NodeWords other(3, false);
  other.tell("rows", "from another than the first");
  ASSERT_TRUE(other.publish(launcher).ok());
  for (NodeWords* each : {&first, &other}) {
    EXPECT_EQ(heard(*each, launcher, "path"), "/dev/shm/file/of/7/3/words");
    EXPECT_EQ(heard(*each, launcher, "rows"), "12");
    EXPECT_EQ(heard(*each, launcher, "nothing"), "");
    EXPECT_EQ(heard(*each, launcher, "never told"), "");
  }
  EXPECT_EQ(launcher.questions, 1);
}

TEST(NodeWords, OtherNodesHearNothing) {
  Launcher launcher;
  NodeWords first(0, true);
  first.tell("word", "here");
  ASSERT_TRUE(first.publish(launcher).ok());
  NodeWords elsewhere(1, false);
  std::string value;
  EXPECT_FALSE(elsewhere.told(launcher, "word", &value).ok());
}

TEST(NodeWords, WhoHasNothingToTellAnswersWhereOthersAsk) {
  Launcher launcher;
  NodeWords first(2, true);
  ASSERT_TRUE(first.publish(launcher).ok());
  NodeWords other(2, false);
  EXPECT_EQ(heard(other, launcher, "word"), "");

  NodeWords alone(4, true, true);
  alone.tell("word", "here");
  ASSERT_TRUE(alone.publish(launcher).ok());
  std::string value;
  EXPECT_FALSE(launcher.get("headrace-node-4", &value).ok());
}

TEST(NodeWords, WhatWasNotJoinedIsAnError) {
  for (const char* text : {"x", "3", "3/", "3/ab", "3/abc", "3/abc4/abc", "-1/a1/b", "99999999999999999999/a"}) {
    Words words;
    EXPECT_EQ(split(text, &words).errc(), Errc::kOther) << text;
    take_detail();
  }
  Words words;
  EXPECT_TRUE(split("", &words).ok());
  EXPECT_TRUE(words.empty());
}

}  // namespace
}  // namespace hr::boot
