// AttributeSet and keyvals: the rules of section 7.7.
#include "base/attributes.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hr {
namespace {

void* value(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

class AttributesTest : public testing::Test {
 protected:
  // Creates a keyval whose callbacks write to `log`: "copy 1" or "delete 2", with the value.
  int logged(bool keep = true) {
    return create_keyval(
        KeyvalKind::kCommunicator,
        [this, keep](void*, int, void* from, void** to, bool* keep_it) {
          log.push_back("copy " + std::to_string(reinterpret_cast<std::uintptr_t>(from)));
          if (from == fails_to_copy) return Status(Errc::kOther);
          *to = from;
          *keep_it = keep;
          return kOk;
        },
        [this](void*, int, void* gone) {
          log.push_back("delete " + std::to_string(reinterpret_cast<std::uintptr_t>(gone)));
          return gone == fails_to_delete ? Status(Errc::kOther) : kOk;
        });
  }
  Status set(AttributeSet& set, int number, void* what) {
    std::shared_ptr<const Keyval> keyval;
    const Status found = find_keyval(KeyvalKind::kCommunicator, number, &keyval);
    return found.ok() ? set.set(&object, keyval, what) : found;
  }

  int object = 0;
  std::vector<std::string> log;
  void* fails_to_copy = nullptr;
  void* fails_to_delete = nullptr;
};

using Log = std::vector<std::string>;

TEST_F(AttributesTest, StoresAndForgets) {
  AttributeSet set_;
  const int keyval = logged();
  void* found = nullptr;
  EXPECT_FALSE(set_.get(keyval, &found));
  ASSERT_TRUE(set(set_, keyval, value(1)).ok());
  ASSERT_TRUE(set_.get(keyval, &found));
  EXPECT_EQ(found, value(1));
  ASSERT_TRUE(set_.erase(&object, keyval).ok());
  EXPECT_FALSE(set_.get(keyval, &found));
  EXPECT_EQ(log, Log{"delete 1"});
  EXPECT_EQ(set_.erase(&object, keyval), Status(Errc::kKeyval));
}

TEST_F(AttributesTest, ANewValueDeletesTheOldOneFirst) {
  AttributeSet set_;
  const int keyval = logged();
  ASSERT_TRUE(set(set_, keyval, value(1)).ok());
  ASSERT_TRUE(set(set_, keyval, value(2)).ok());
  EXPECT_EQ(log, Log{"delete 1"});
  fails_to_delete = value(2);
  EXPECT_EQ(set(set_, keyval, value(3)), Status(Errc::kOther));
  void* found = nullptr;
  ASSERT_TRUE(set_.get(keyval, &found));
  EXPECT_EQ(found, value(2));
}

TEST_F(AttributesTest, CopiesInOrderAndDeletesNewestFirst) {
  AttributeSet set_;
  for (std::uintptr_t i = 1; i <= 3; ++i) ASSERT_TRUE(set(set_, logged(i != 2), value(i)).ok());
  AttributeSet copy;
  ASSERT_TRUE(set_.copy_to(&object, &copy, &object).ok());
  EXPECT_EQ(log, (Log{"copy 1", "copy 2", "copy 3"}));
  log.clear();
  ASSERT_TRUE(copy.clear(&object).ok());
  EXPECT_EQ(log, (Log{"delete 3", "delete 1"}));  // the copy callback of 2 refused
  EXPECT_TRUE(copy.empty());
}

TEST_F(AttributesTest, AFailingCopyLeavesNothingBehind) {
  AttributeSet set_;
  for (std::uintptr_t i = 1; i <= 3; ++i) ASSERT_TRUE(set(set_, logged(), value(i)).ok());
  fails_to_copy = value(3);
  AttributeSet copy;
  EXPECT_EQ(set_.copy_to(&object, &copy, &object), Status(Errc::kOther));
  EXPECT_TRUE(copy.empty());
  EXPECT_EQ(log, (Log{"copy 1", "copy 2", "copy 3", "delete 2", "delete 1"}));
}

TEST_F(AttributesTest, AFailingDeleteKeepsTheValueForAnotherTry) {
  AttributeSet set_;
  const int keyval = logged();
  ASSERT_TRUE(set(set_, keyval, value(7)).ok());
  fails_to_delete = value(7);
  EXPECT_EQ(set_.clear(&object), Status(Errc::kOther));
  EXPECT_FALSE(set_.empty());
  fails_to_delete = nullptr;
  EXPECT_TRUE(set_.clear(&object).ok());
  EXPECT_TRUE(set_.empty());
}

TEST_F(AttributesTest, AFreedKeyvalLivesOnInItsAttributes) {
  AttributeSet set_;
  const int keyval = logged();
  ASSERT_TRUE(set(set_, keyval, value(1)).ok());
  ASSERT_TRUE(free_keyval(KeyvalKind::kCommunicator, keyval).ok());
  std::shared_ptr<const Keyval> found;
  EXPECT_EQ(find_keyval(KeyvalKind::kCommunicator, keyval, &found), Status(Errc::kKeyval));
  EXPECT_EQ(free_keyval(KeyvalKind::kCommunicator, keyval), Status(Errc::kKeyval));
  EXPECT_NE(logged(), keyval);
  ASSERT_TRUE(set_.clear(&object).ok());
  EXPECT_EQ(log, Log{"delete 1"});
}

TEST_F(AttributesTest, AKeyvalBelongsToOneKindOfObject) {
  const int keyval = logged();
  std::shared_ptr<const Keyval> found;
  EXPECT_EQ(find_keyval(KeyvalKind::kDatatype, keyval, &found), Status(Errc::kKeyval));
  EXPECT_NE(take_detail().find("created for communicators"), std::string::npos);
  EXPECT_EQ(find_keyval(KeyvalKind::kCommunicator, 0, &found), Status(Errc::kKeyval));
}

TEST_F(AttributesTest, ACallbackMayChangeTheSet) {
  AttributeSet set_;
  const int other = logged();
  const int keyval =
      create_keyval(KeyvalKind::kCommunicator, nullptr, [&](void*, int, void*) { return set_.erase(&object, other); });
  ASSERT_TRUE(set(set_, other, value(1)).ok());
  ASSERT_TRUE(set(set_, keyval, value(2)).ok());
  ASSERT_TRUE(set_.clear(&object).ok());
  EXPECT_TRUE(set_.empty());
  EXPECT_EQ(log, Log{"delete 1"});
}

}  // namespace
}  // namespace hr
