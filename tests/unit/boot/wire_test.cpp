#include <gtest/gtest.h>

#include "boot/pmi1_wire.hpp"

namespace hr::boot {
namespace {

TEST(WireMessage, Fields) {
  const WireMessage message("cmd=get_result rc=-1 msg=key_not_found value=(vector,(0,1,2)) empty=");
  EXPECT_EQ(message.command(), "get_result");
  EXPECT_EQ(message.number("rc", 7), -1);
  EXPECT_EQ(message.field("value"), "(vector,(0,1,2))");
  EXPECT_EQ(message.field("alu"), "");
  EXPECT_EQ(message.field("empty"), "");
  EXPECT_EQ(message.number("msg", 7), 7);
  EXPECT_EQ(message.number("none", 7), 7);
}

TEST(WireMessage, AnEmptyLineHasNoFields) {
  EXPECT_EQ(WireMessage("").command(), "");
  EXPECT_EQ(WireMessage("cmd").command(), "");
}

}  // namespace
}  // namespace hr::boot
