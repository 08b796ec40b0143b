#include <gtest/gtest.h>

#include "base/counters_page.hpp"

namespace hr::counters {
namespace {

TEST(CountersText, IsJsonWhateverTheNames) {
  About about;
  about.job = "\xc3\xbc\"\n";
  about.library = "\xff";
  const std::string text = describe(about);
  EXPECT_NE(text.find(R"("job":"\u00fc\"\u000a")"), std::string::npos) << text.substr(0, 200);
  EXPECT_NE(text.find(R"("library":"\ufffd")"), std::string::npos);
}

}  // namespace
}  // namespace hr::counters
