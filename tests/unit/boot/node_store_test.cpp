#include "boot/node_store.hpp"

#include <gtest/gtest.h>

namespace hr::boot {
namespace {

// The key-value space of a job, as one process sees it.
class Launcher final : public Provider {
 public:
  Status connect(Identity*, std::vector<int>*) override { return kOk; }
  Status put(std::string_view key, std::string_view value) override {
    EXPECT_LT(value.size(), 1024U) << "launchers take no longer ones";
    EXPECT_EQ(value.find_first_of(" =;\n"), value.npos);
    space_.insert_or_assign(std::string(key), std::string(value));
    return kOk;
  }
  Status get(int /*owner*/, std::string_view key, std::string* value) override {
    ++questions;
    const auto found = space_.find(key);
    if (found == space_.end()) return fail(Errc::kOther, "there is no such key");
    *value = found->second;
    return kOk;
  }
  Status fence() override { return kOk; }
  Status finalize() override { return kOk; }
  void abort(int) noexcept override {}

  int questions = 0;

 private:
  KeyValues space_;
};

std::string value_of(NodeStore& store, Launcher& launcher, std::string_view key) {
  std::string value = "not asked";
  EXPECT_TRUE(store.get(launcher, key, &value).ok()) << take_detail();
  return value;
}

TEST(NodeStore, WhoHasNothingToPutAnswersWhereOthersAsk) {
  Launcher launcher;
  NodeStore first(2, 0, 0);
  ASSERT_TRUE(first.publish(launcher).ok());
  NodeStore other(2, 1, 0);
  EXPECT_EQ(value_of(other, launcher, "key"), "");

  NodeStore alone(4, 0, 0, true);
  alone.put("key", "here");
  ASSERT_TRUE(alone.publish(launcher).ok());
  std::string value;
  EXPECT_FALSE(launcher.get(0, "headrace-node-4", &value).ok());
}

TEST(NodeStore, AllKeysAreOneValue) {
  Launcher launcher;
  NodeStore first(3, 0, 0);
  first.put("path", "/dev/shm/file/of/7/3/words");
  first.put("rows", "0");
  first.put("rows", "12");
  first.put("nothing", "");
  first.put("any", "a = b; 100% c\n");
  first.put("long", std::string(5000, 'x'));
  ASSERT_TRUE(first.publish(launcher).ok());
  first.put("rows", "too late");

  NodeStore other(3, 1, 0);
  other.put("rows", "from another than the first");
  ASSERT_TRUE(other.publish(launcher).ok());
  for (NodeStore* each : {&first, &other}) {
    EXPECT_EQ(value_of(*each, launcher, "path"), "/dev/shm/file/of/7/3/words");
    EXPECT_EQ(value_of(*each, launcher, "rows"), "12");
    EXPECT_EQ(value_of(*each, launcher, "nothing"), "");
    EXPECT_EQ(value_of(*each, launcher, "any"), "a = b; 100% c\n");
    EXPECT_EQ(value_of(*each, launcher, "long"), std::string(5000, 'x'));
    EXPECT_EQ(value_of(*each, launcher, "never told"), "");
  }
  EXPECT_EQ(launcher.questions, 6) << "one question for each 900 characters";
}

TEST(NodeStore, OtherNodesHaveTheirOwn) {
  Launcher launcher;
  NodeStore first(0, 0, 0);
  first.put("word", "here");
  ASSERT_TRUE(first.publish(launcher).ok());
  NodeStore elsewhere(1, 1, 0);
  std::string value;
  EXPECT_FALSE(elsewhere.get(launcher, "word", &value).ok());
}

TEST(NodeStore, WhatWasNotJoinedIsAnError) {
  for (const char* text :
       {"x", "3", "3/", "3/ab", "3/abc", "3/abc4/abc", "-1/a1/b", "99999999999999999999/a", "3/%zz0/", "2/%20/"}) {
    KeyValues words;
    EXPECT_EQ(split(text, &words).errc(), Errc::kOther) << text;
    take_detail();
  }
  KeyValues words;
  EXPECT_TRUE(split("", &words).ok());
  EXPECT_TRUE(words.empty());
}

}  // namespace
}  // namespace hr::boot
