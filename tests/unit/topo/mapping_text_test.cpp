#include "topo/mapping_text.hpp"

#include <gtest/gtest.h>

namespace hr::topo {
namespace {

TEST(MappingText, ComesBackAsItWas) {
  Mapping mapping;
  EXPECT_EQ(to_text(mapping), "0 0 0 1 8 1 0 1 1 -1 0 7 1 - 0");
  mapping = {.hosts = Mapping::Hosts::kSpan,
             .per_host = 3,
             .policy = Mapping::Policy::kList,
             .bound = false,
             .level = Level::kL3,
             .group = 2,
             .per_part = 4,
             .unit = Level::kThread,
             .count = 5,
             .bind = Level::kNuma,
             .list = {{0, 1, 2, 9}, {7}}};
  mapping.numbering = Mapping::Numbering::kParts;
  mapping.number_level = Level::kCore;
  mapping.allow_oversubscription = false;
  mapping.only = {0, 1, 2, 7, 9};
  const std::string text = to_text(mapping);
  Mapping read;
  ASSERT_TRUE(from_text(text, &read).ok()) << text;
  EXPECT_EQ(to_text(read), text);
  EXPECT_EQ(read.list, mapping.list);
  EXPECT_EQ(read.only, mapping.only);
  EXPECT_EQ(read.bind, mapping.bind);
}

TEST(MappingText, NothingElseIsTaken) {
  const std::string good = "0 0 0 1 8 1 0 1 1 -1 0 7 1 - 0";
  Mapping mapping;
  EXPECT_TRUE(from_text(good, &mapping).ok());
  for (const char* text :
       {"", "0", "0 0 0 1 8 1 0 1 1 -1 0 7 1 - 0 0", "9 0 0 1 8 1 0 1 1 -1 0 7 1 - 0", "0 0 0 1 8 0 0 1 1 -1 0 7 1 - 0",
        "0 0 0 1 8 1 0 1 0 -1 0 7 1 - 0", "0 0 4 1 8 1 0 1 1 -1 0 7 1 - 0", "0 0 0 1 8 1 0 1 1 -1 0 7 1 3-1 0",
        "0 0 0 1 8 1 0 1 1 -1 0 7 1 99999999 0", "0 0 0 1 8 1 0 1 1 -1 0 7 1 1,1 0", "0 0 0 1 8 1 0 1 1 -1 0 7 1 - 2 0",
        "0 0 0 1 8 1 0 1 1 -1 0 7 1 - 1 -", "x 0 0 1 8 1 0 1 1 -1 0 7 1 - 0", "0 -5 0 1 8 1 0 1 1 -1 0 7 1 - 0"}) {
    EXPECT_FALSE(from_text(text, &mapping).ok()) << text;
    EXPECT_NE(take_detail().find("mapping"), std::string::npos);
  }
  // A short text with a large result.
  std::string bomb = "0 0 4 1 8 1 0 1 1 -1 0 7 1 - 1000";
  for (int at = 0; at < 1000; ++at) bomb += " 0-65535";
  EXPECT_FALSE(from_text(bomb, &mapping).ok());
  (void)take_detail();
  // Text truncated anywhere or with any byte changed causes neither a crash nor an endless list.
  for (std::size_t at = 0; at < good.size(); ++at) {
    (void)from_text(good.substr(0, at), &mapping);
    std::string changed = good;
    for (const char letter : {'-', ' ', '9', 'z', '\0', '\xff'}) {
      changed[at] = letter;
      (void)from_text(changed, &mapping);
    }
  }
}

}  // namespace
}  // namespace hr::topo
