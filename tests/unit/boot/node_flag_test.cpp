// Flags between processes on a host: named files in a directory that all users share.
#include "boot/node_flag.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace hr::boot {
namespace {

TEST(NodeFlag, IsSetOnceAndItsNameDoesNotTellWhatItIs) {
  EXPECT_FALSE(node_flag_is_set("a-flag-of-this-test"));
  EXPECT_TRUE(set_node_flag("a-flag-of-this-test"));
  EXPECT_TRUE(node_flag_is_set("a-flag-of-this-test"));
  EXPECT_FALSE(set_node_flag("a-flag-of-this-test"));
  EXPECT_FALSE(node_flag_is_set("another-flag-of-this-test"));
  std::ostringstream names;
  names << std::ifstream("/proc/net/unix").rdbuf();
  EXPECT_EQ(names.str().find("flag-of-this-test"), std::string::npos);
  EXPECT_NE(names.str().find("@headrace-"), std::string::npos);
}

}  // namespace
}  // namespace hr::boot
