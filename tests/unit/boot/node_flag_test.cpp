// Flags between processes on a host: named files in a directory that all users share.
#include "boot/node_flag.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace hr::boot {
namespace {

TEST(NodeFlag, IsSetOnceAndItsNameDoesNotTellWhatItIs) {
  // All processes of the host see a flag, including other runs of this test.
  const std::string flag = "a-flag-of-this-test-" + std::to_string(::getpid());
  EXPECT_FALSE(node_flag_is_set(flag));
  EXPECT_TRUE(set_node_flag(flag));
  EXPECT_TRUE(node_flag_is_set(flag));
  EXPECT_FALSE(set_node_flag(flag));
  EXPECT_FALSE(node_flag_is_set("another-" + flag));
  std::ostringstream names;
  names << std::ifstream("/proc/net/unix").rdbuf();
  EXPECT_EQ(names.str().find("flag-of-this-test"), std::string::npos);
  EXPECT_NE(names.str().find("@headrace-"), std::string::npos);
}

}  // namespace
}  // namespace hr::boot
