// Info objects (chapter 10).
#include "comm/info.hpp"

#include <gtest/gtest.h>

#include "base/abi.hpp"

namespace hr::comm {
namespace {

TEST(InfoTest, KeepsTheOrderOfTheKeys) {
  const Ref<Info> info = create_info();
  ASSERT_TRUE(info->set("b", "1").ok());
  ASSERT_TRUE(info->set("a", "2").ok());
  ASSERT_TRUE(info->set("b", "3").ok());
  ASSERT_EQ(info->size(), 2);
  EXPECT_EQ(info->key(0), "b");
  EXPECT_EQ(info->key(1), "a");
  EXPECT_EQ(*info->get("b"), "3");
  EXPECT_EQ(info->get("c"), nullptr);
}

TEST(InfoTest, CopiesAreIndependent) {
  const Ref<Info> info = create_info();
  ASSERT_TRUE(info->set("a", "1").ok());
  const Ref<Info> copy = info->dup();
  ASSERT_TRUE(info->erase("a").ok());
  EXPECT_EQ(info->size(), 0);
  EXPECT_EQ(*copy->get("a"), "1");
}

TEST(InfoTest, RefusesWhatDoesNotFit) {
  const Ref<Info> info = create_info();
  EXPECT_EQ(info->set("", "1"), Status(Errc::kInfoKey));
  EXPECT_EQ(info->set(std::string(abi::kMaxInfoKey, 'k'), "1"), Status(Errc::kInfoKey));
  EXPECT_TRUE(info->set(std::string(abi::kMaxInfoKey - 1, 'k'), "1").ok());
  EXPECT_EQ(info->set("k", std::string(abi::kMaxInfoVal, 'v')), Status(Errc::kInfoValue));
  EXPECT_TRUE(info->set("k", std::string(abi::kMaxInfoVal - 1, 'v')).ok());
  EXPECT_EQ(info->erase("unknown"), Status(Errc::kInfoNokey));
}

TEST(InfoTest, TheEnvironmentSaysHowTheProcessWasStarted) {
  EXPECT_EQ(info_env().handle(), reinterpret_cast<void*>(abi::kInfoEnv));
  ASSERT_NE(info_env().get("command"), nullptr);
  EXPECT_NE(info_env().get("command")->find("unit_comm"), std::string::npos);
  for (const char* key : {"maxprocs", "host", "arch", "wdir"}) EXPECT_NE(info_env().get(key), nullptr) << key;
}

TEST(InfoTest, TheEnvironmentOfAnArgumentList) {
  char program[] = "solver";
  char first[] = "-n";
  char second[] = "3";
  char* arguments[] = {program, first, second, nullptr};
  const Ref<Info> info = create_info_env(3, arguments);
  EXPECT_EQ(*info->get("command"), "solver");
  EXPECT_EQ(*info->get("argv"), "-n 3");
}

}  // namespace
}  // namespace hr::comm
