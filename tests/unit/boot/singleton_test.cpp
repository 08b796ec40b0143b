#include <gtest/gtest.h>

#include <cstdlib>

#include "boot/boot.hpp"

namespace hr::boot {
namespace {

TEST(Singleton, IsRankZeroOfOne) {
  for (const char* name : {"PMI_FD", "PMI_RANK", "PMI_SIZE", "PMI_PORT", "PMIX_RANK"}) ::unsetenv(name);
  ASSERT_TRUE(init().ok()) << take_detail();
  EXPECT_EQ(identity().rank, 0);
  EXPECT_EQ(identity().size, 1);
  EXPECT_FALSE(identity().has_launcher);
  EXPECT_EQ(processes().size(), 1);
  EXPECT_TRUE(processes().job_on_one_host());
  EXPECT_EQ(identity().job_id.find_first_of("/. "), std::string::npos);

  ASSERT_TRUE(put("key", "value").ok());
  ASSERT_TRUE(fence().ok());
  std::string value;
  ASSERT_TRUE(get(0, "key", &value).ok());
  EXPECT_EQ(value, "value");
  EXPECT_FALSE(get(0, "no-such-key", &value).ok());
  EXPECT_NE(take_detail().find("no-such-key"), std::string::npos);
  node_put("word", "for myself");
  ASSERT_TRUE(node_get("word", &value).ok());
  EXPECT_EQ(value, "for myself");
  EXPECT_TRUE(finalize().ok());
}

TEST(Singleton, RefusesALauncherItDoesNotSpeak) {
  ::setenv("PMIX_RANK", "3", 1);
  ::setenv("PMIX_NAMESPACE", "job", 1);
  EXPECT_EQ(init().errc(), Errc::kOther);
  EXPECT_NE(take_detail().find("PMIx"), std::string::npos);
  ::unsetenv("PMIX_RANK");
  ::unsetenv("PMIX_NAMESPACE");
}

}  // namespace
}  // namespace hr::boot
